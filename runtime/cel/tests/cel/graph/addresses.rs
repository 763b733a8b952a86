//! URLs and addresses. As Go's `net/url` and `net/netip` have them.

use super::{all_fail, all_true};

#[test]
fn a_scheme_begins_with_a_letter() {
    all_true(&[
        "url('git+ssh://h/').getScheme() == 'git+ssh' && url('h2://x').getHost() == 'x' && url('A1+-.z:/p').getScheme() == 'a1+-.z'",
        // Behind a slash a colon is nothing special.
        "url('/a:b').getEscapedPath() == '/a:b' && url('/a:b').getScheme() == ''",
    ]);
    all_fail(&[
        (r"url('1h://x')", "invalid URI for request"),
        (r"url('+h://x')", "invalid URI for request"),
        (r"url('h2/x')", "invalid URI for request"),
        (r"url(':/x')", "missing protocol scheme"),
    ]);
}

#[test]
fn a_path_is_escaped_anew_only_where_it_may_not_stay_as_it_was_written() {
    all_true(&[
        "url('http://a/(!)').getEscapedPath() == '/(!)'",
        "url('http://a/(!) b').getEscapedPath() == '/%28%21%29%20b' && url('http://a/<x>').getEscapedPath() == '/%3Cx%3E'",
    ]);
}

#[test]
fn addresses_are_of_one_class() {
    all_true(&[
        "ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast() && ip('ff12::1').isLinkLocalMulticast()",
        "!ip('224.0.1.1').isLinkLocalMulticast() && !ip('ff05::1').isLinkLocalMulticast() && !ip('10.0.0.1').isLinkLocalMulticast()",
        "ip('10.0.0.1').isGlobalUnicast() && ip('2001:db8::1').isGlobalUnicast()",
        "['0.0.0.0', '255.255.255.255', '127.0.0.1', '169.254.0.1', '224.0.0.1', '::', '::1', 'fe80::1', 'ff0e::1']\
         .all(a, !ip(a).isGlobalUnicast())",
    ]);
}
