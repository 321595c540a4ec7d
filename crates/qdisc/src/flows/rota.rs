//! Turns: lists of bands. Each band is on at most one list.

/// No band.
const NONE: u32 = u32::MAX;

/// A list of bands, in the order in which they are served. The links are the bands' own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rota {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for Rota {
    fn default() -> Rota {
        Rota { head: NONE, tail: NONE, len: 0 }
    }
}

impl Rota {
    /// The band whose turn it is.
    #[inline]
    pub(crate) fn first(&self) -> Option<usize> {
        (self.head != NONE).then_some(self.head as usize)
    }

    /// The band to which a link leads.
    #[inline]
    pub(crate) fn linked(link: u32) -> Option<usize> {
        (link != NONE).then_some(link as usize)
    }

    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    /// Adds a band at the end. `link` gives each band's link.
    #[inline]
    pub(crate) fn push<T>(&mut self, band: usize, links: &mut [T], link: impl Fn(&mut T) -> &mut u32) {
        *link(&mut links[band]) = NONE;
        if self.tail == NONE {
            self.head = band as u32;
        } else {
            *link(&mut links[self.tail as usize]) = band as u32;
        }
        self.tail = band as u32;
        self.len += 1;
    }

    /// Takes off the band whose turn it is.
    #[inline]
    pub(crate) fn pop<T>(&mut self, links: &mut [T], link: impl Fn(&mut T) -> &mut u32) -> Option<usize> {
        let band = self.first()?;
        self.head = *link(&mut links[band]);
        if self.head == NONE {
            self.tail = NONE;
        }
        self.len -= 1;
        Some(band)
    }
}
