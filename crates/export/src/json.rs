//! JSON text as people read it: each value of an object or an array on a line of its own, two spaces a level.

/// The same JSON with line breaks and indentation. Numbers and strings stay as they are written, and so does what is empty.
///
/// For a text that is not JSON the result is none either.
pub fn indented(json: &str) -> String {
    let mut text = String::with_capacity(2 * json.len());
    let mut depth = 0_usize;
    let mut tokens = Tokens(json).peekable();
    while let Some(token) = tokens.next() {
        match token {
            "}" | "]" => {
                depth = depth.saturating_sub(1);
                break_line(&mut text, depth);
                text.push_str(token);
            }
            "{" | "[" => {
                text.push_str(token);
                if let Some(end) = tokens.next_if(|next| matches!(*next, "}" | "]")) {
                    text.push_str(end);
                } else {
                    depth += 1;
                    break_line(&mut text, depth);
                }
            }
            "," => {
                text.push_str(token);
                break_line(&mut text, depth);
            }
            ":" => text.push_str(": "),
            value => text.push_str(value),
        }
    }
    text
}

fn break_line(text: &mut String, depth: usize) {
    text.push('\n');
    for _ in 0..depth {
        text.push_str("  ");
    }
}

/// The parts of a JSON text (RFC 8259 section 2), without the white space between them.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];
        const ENDS: [char; 11] = ['"', '{', '}', '[', ']', ',', ':', ' ', '\t', '\n', '\r'];
        let text = self.0.trim_start_matches(BLANKS);
        let length = match text.bytes().next()? {
            b'"' => string_length(text),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            _ => text.find(ENDS).unwrap_or(text.len()),
        };
        let (token, rest) = text.split_at(length);
        self.0 = rest;
        Some(token)
    }
}

/// The bytes of the string at the start of a text, with its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Python's `json.dumps(value, indent=2)` writes it.
    #[test]
    fn lines_and_levels() {
        let compact = r#"{"a":[1,-2.5e-07,null],"b":{},"c":[[],{"d":true}],"e":"x"}"#;
        let lines = [
            "{",
            r#"  "a": ["#,
            "    1,",
            "    -2.5e-07,",
            "    null",
            "  ],",
            r#"  "b": {},"#,
            r#"  "c": ["#,
            "    [],",
            "    {",
            r#"      "d": true"#,
            "    }",
            "  ],",
            r#"  "e": "x""#,
            "}",
        ];
        assert_eq!(indented(compact), lines.join("\n"));
        assert_eq!(indented(&lines.join("\r\n\t ")), lines.join("\n"), "white space does not matter");
        assert_eq!(indented("1"), "1");
        assert_eq!(indented(""), "");
    }

    /// What is inside of strings is left alone: brackets, quotes, backslashes, spaces, any language.
    #[test]
    fn strings() {
        for string in [r#""{ [,:] }""#, r#""\"""#, r#""\\""#, r#""\\\" , ""#, r#""é – 漢\u0041""#, r#""""#]
        {
            assert_eq!(indented(&format!("[{string},{string}]")), format!("[\n  {string},\n  {string}\n]"));
        }
    }

    /// Texts that are not JSON do not make it panic.
    #[test]
    fn other_texts() {
        for text in ["}]", "\"", "\"\\", "\"\\é", "[\"é", "é", "{[", ",,", "\u{a0}x"] {
            indented(text);
        }
    }
}
