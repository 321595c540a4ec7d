//! The functions that JavaScript calls. It writes a question to where [`windtunnel_question`] says, calls [`windtunnel_ask`],
//! and reads the answer, which stays until the next question.
//!
//! No library is between the two: JavaScript reads and writes the memory of WebAssembly by itself, and so the code that
//! builds the page needs a compiler alone (docs/decisions/0057-lab.md).

#![expect(
    unsafe_code,
    reason = "a function has a name for JavaScript only if the compiler is told that no other has it"
)]

use std::cell::RefCell;

use crate::desk::Desk;

#[derive(Default)]
struct Page {
    question: Vec<u8>,
    answer: Vec<u8>,
    desk: Desk,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

/// Room for a question of this many bytes of UTF-8.
#[unsafe(no_mangle)]
extern "C" fn windtunnel_question(length: usize) -> *mut u8 {
    PAGE.with_borrow_mut(|page| {
        page.question.clear();
        page.question.resize(length, 0);
        page.question.as_mut_ptr()
    })
}

/// Answers it. Returns the number of bytes of the answer.
#[unsafe(no_mangle)]
extern "C" fn windtunnel_ask() -> usize {
    PAGE.with_borrow_mut(|page| {
        page.answer.clear();
        let question = String::from_utf8_lossy(&page.question);
        page.answer = page.desk.answer(&question).bytes();
        page.answer.len()
    })
}

/// Where the answer is.
#[unsafe(no_mangle)]
extern "C" fn windtunnel_answer() -> *const u8 {
    PAGE.with_borrow(|page| page.answer.as_ptr())
}
