//! xplot files: the format of the plots of tcptrace, and of "Multiplicative Decrease Scaling".
//!
//! A text file: the types of the two axes, then one command per line; a command's text is the line after it
//! (the xplot manual page; spec/queues-and-signalling section 18.3).

use std::fmt::Write;

/// A colour that every xplot knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// On xplot's black background.
    White,
    /// Second flow.
    Green,
    /// Drops; queue empty after the dequeue.
    Red,
    /// Fourth flow.
    Blue,
    /// CE marks.
    Yellow,
    /// Sixth flow.
    Purple,
    /// Seventh flow.
    Orange,
    /// Eighth flow.
    Magenta,
    /// Ninth flow.
    Pink,
}

impl Colour {
    const ALL: [(Colour, &'static str); 9] = [
        (Colour::White, "white"),
        (Colour::Green, "green"),
        (Colour::Red, "red"),
        (Colour::Blue, "blue"),
        (Colour::Yellow, "yellow"),
        (Colour::Purple, "purple"),
        (Colour::Orange, "orange"),
        (Colour::Magenta, "magenta"),
        (Colour::Pink, "pink"),
    ];

    /// The colour with this name.
    pub fn named(name: &str) -> Option<Colour> {
        Colour::ALL.iter().find(|(_, n)| *n == name).map(|(c, _)| *c)
    }

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        Colour::ALL.iter().find(|(c, _)| *c == self).map_or("white", |(_, n)| n)
    }
}

/// How a point is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// A dot.
    Dot,
    /// A cross.
    X,
}

/// Points of one colour and symbol.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    /// Their colour.
    pub colour: Colour,
    /// Their symbol.
    pub symbol: Symbol,
    /// Abscissae.
    pub x: &'a [f64],
    /// Ordinates; as many as abscissae. Points that are not finite are left out.
    pub y: &'a [f64],
}

/// One plot as the text of an xplot file. The axes always include the origin.
pub fn plot(title: &str, x_label: &str, y_label: &str, series: &[Series<'_>]) -> String {
    let points: usize = series.iter().map(|s| s.x.len()).sum();
    let mut text = String::with_capacity(256 + 32 * points);
    text.push_str("double double\n");
    for (command, label) in [("title", title), ("xlabel", x_label), ("ylabel", y_label)] {
        // A line break would end the label and start a command.
        let _ = writeln!(text, "{command}\n{}", label.replace(['\n', '\r'], " "));
    }
    text.push_str("invisible 0 0\n");
    for series in series {
        let _ = writeln!(text, "{}", series.colour.name());
        let symbol = match series.symbol {
            Symbol::Dot => "dot",
            Symbol::X => "x",
        };
        for (x, y) in series.x.iter().zip(series.y).filter(|(x, y)| x.is_finite() && y.is_finite()) {
            let _ = writeln!(text, "{symbol} {x} {y}");
        }
    }
    text.push_str("go\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A whole file, by the format's rules: axis types first, labels after their commands, `go` last.
    #[test]
    fn writes_commands_in_order() {
        let series = [
            Series { colour: Colour::White, symbol: Symbol::Dot, x: &[0.5, 1.0], y: &[2.0, f64::NAN] },
            Series { colour: Colour::Red, symbol: Symbol::X, x: &[1.5], y: &[3.25] },
        ];
        let text = plot("Queue\nSojourn", "Time (s)", "ms", &series);
        let expected = "double double\ntitle\nQueue Sojourn\nxlabel\nTime (s)\nylabel\nms\ninvisible 0 0\n\
                        white\ndot 0.5 2\nred\nx 1.5 3.25\ngo\n";
        assert_eq!(text, expected);
    }

    /// Every colour is found by its own name.
    #[test]
    fn colours_have_names() {
        for (colour, name) in Colour::ALL {
            assert_eq!(Colour::named(name), Some(colour));
            assert_eq!(colour.name(), name);
        }
        assert_eq!(Colour::named("mauve"), None);
    }
}
