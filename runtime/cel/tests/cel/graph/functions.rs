//! Functions and macros beyond what was recorded: their neighbours, and what they refuse.

use serde_json::{Value, json};

use super::{all_fail, all_true, patient, value_of};

#[test]
fn texts() {
    all_true(&[
        "'héllo'.indexOf('l', 3) == 3 && 'héllo'.indexOf('h', 1) == -1 && ''.indexOf('') == 0 && 'ab'.indexOf('', 1) == 1",
        "'abc'.lastIndexOf('c', 1) == -1 && 'abab'.lastIndexOf('ab', 1) == 0 && 'abab'.lastIndexOf('ab', 2) == 2",
        "'☃a☃a'.lastIndexOf('a', 2) == 1 && 'abc'.lastIndexOf('', 1) == 1 && ''.lastIndexOf('a') == -1",
        "'☃☃'.lastIndexOf('é☃', 1) == -1 && '☃é'.lastIndexOf('☃é', 0) == 0",
        "'a,b'.split(',', -1) == ['a', 'b'] && ''.split('') == [] && 'é☃'.split('') == ['é', '☃'] && 'abc'.split('', 2) == ['a', 'bc']",
        "'héllo'.reverse() == 'olléh' && [1, 2].reverse() == [2, 1] && ''.substring(0) == '' && 'a'.charAt(1) == ''",
        "'a-b'.replace('-', '') == 'ab' && 'aaa'.replace('a', 'b', 2) == 'bba'",
        "strings.quote('\\u2028\\u00a0') == '\"\\u2028\\u00a0\"' && strings.quote('\\\\') == '\"\\\\\\\\\"'",
        "'x'.matches('') && !'x'.matches('^$') && matches('a.b', r'a\\.b') && 'É'.matches('(?i)é')",
        "'key=v1,key=v2'.findAll(r'\\w+=') == ['key=', 'key='] && 'aaa'.findAll('a', 0) == [] && ''.findAll('x*') == ['']",
        "'abc'.find('b.*') == 'bc' && 'abc'.findAll('') == ['', '', '', '']",
        "double('0x1.8p1') == 3.0 && double('0x10000000000000000p0') == 18446744073709551616.0 && double('0x1.00000000000000000p0') == 1.0",
        "[{'protobuf': {'Timestamp': 5}}].all(google, google.protobuf.Timestamp == 5)",
        "size('') == 0 && size(b'\\xff\\xfe') == 2 && ''.size() == 0 && {}.size() == 0",
    ]);
    all_fail(&[
        ("'a'.charAt(-1)", "index out of range: -1"),
        ("'a'.indexOf('a', -1)", "index out of range: -1"),
        ("'abc'.substring(2, 1)", "start: 2, end: 1"),
        ("[1].join(',')", "no such overload: join(list, string)"),
        ("'a'.matches('(')", "matches: the pattern"),
        ("'a'.find('[')", "find: the pattern"),
        ("'a'.existsOne(x, true)", "no function \"existsOne\""),
        ("'a'.format()", "no such overload"),
    ]);
}

#[test]
fn literals() {
    all_true(&[
        r"'\x41\101\u00e9\U0001F600' == 'AAé😀' && b'\xff\101' == b'\xffA' && b'é' == b'\xc3\xa9' && size('\a\b\f\v\?\`') == 6",
        r#"r'\d' == '\\d' && R"a\" == 'a\\' && '''a'b''' == "a'b" && """a"b""" == 'a"b'"#,
        ".5 == 0.5 && 1e3 == 1000.0 && 0xFf == 255 && 0x1Fu == 31u && -0x10 == -16 && 1.5E-1 == 0.15",
        "-9223372036854775808 < -9223372036854775807 && 18446744073709551615u > 1u && [1, 2,] == [1, 2] && {'a': 1,}.size() == 1",
        "{'in': 1}['in'] == 1 && {'import': 2}.import == 2 && {'a-b.c/d': 3}.`a-b.c/d` == 3 // comment",
        "[[1, 2], [3]][0][1] == 2 && (true ? 1 : 2) == 1 && !(false || false) && -(1 + 2) * 3 % 4 == -1",
    ]);
    all_fail(&[
        ("9223372036854775808", "line 1"),
        ("-9223372036854775809", "line 1"),
        ("0x8000000000000000", "line 1"),
        ("18446744073709551616u", "line 1"),
        (r"'\q'", "escape"),
        ("a.in", "line 1"),
        ("1 +", "line 1"),
        ("a b", "line 1"),
        ("[1, 2", "line 1"),
        ("a ? b", "line 1"),
        ("while", "reserved identifier"),
        ("A{b: 1}", "messages"),
    ]);
}

#[test]
fn formats() {
    let evaluator = patient();
    for (source, expected) in [
        ("'%d%%'.format([5])", "5%"),
        ("'%s'.format([-0.0])", "-0"),
        ("'%s %s'.format([1.0 / 0.0, -1.0 / 0.0])", "Infinity -Infinity"),
        ("'%d'.format([0.0 / 0.0])", "NaN"),
        ("'%e'.format([-1.0 / 0.0])", "-Infinity"),
        ("'%.3e'.format([123456])", "1.235e+05"),
        ("'%.0e'.format([2.5])", "2e+00"),
        ("'%f'.format([7u])", "7.000000"),
        ("'%.1f'.format([0.35])", "0.3"),
        ("'%b %b'.format([-5, false])", "-101 0"),
        ("'%X'.format(['☃'])", "E29883"),
        ("'%X'.format([b'\\xab'])", "AB"),
        ("'%x'.format([-9223372036854775808])", "-8000000000000000"),
        ("'%o'.format([8u])", "10"),
        ("'%s'.format([{1: 'a', true: null, 'z': [b'x']}])", "{1: a, true: null, z: [x]}"),
        ("'%s'.format([duration('-1500ms')])", "-1.5s"),
        ("'%s'.format([timestamp('2026-01-31T12:00:00.5+01:00')])", "2026-01-31T11:00:00.5Z"),
        ("'%s'.format([type('')])", "string"),
        ("'%s'.format(['%d'])", "%d"),
        ("'é%s☃'.format(['x'])", "éx☃"),
    ] {
        assert_eq!(value_of(&evaluator, source, &json!({})), Ok(json!(expected)), "{source}");
    }
    all_fail(&[
        ("'%s %s'.format(['a'])", "index 1 out of range"),
        ("'%'.format(['a'])", "unexpected end"),
        ("'%q'.format([1])", "unrecognized formatting clause"),
        ("'%.f'.format([1])", "precision"),
        ("'%.1001f'.format([1])", "precision"),
        ("'%.2'.format([1])", "unrecognized formatting clause"),
        ("'%d'.format(['a'])", "decimal clause"),
        ("'%f'.format(['NaN'])", "fixed-point clause"),
        ("'%b'.format([1.0])", "binary"),
        ("'%o'.format([true])", "octal"),
        ("'%x'.format([1.0])", "hex"),
        ("'%s'.format([optional.none()])", "string clause"),
        ("'%s'.format([[ip('::1')]])", "string clause"),
    ]);
}

#[test]
fn lists_and_maps() {
    all_true(&[
        "[1, 2, 3].first().value() + [1, 2, 3].last().value() == 4 && [].first() == optional.none()",
        "[[1], [[2]], 3].flatten() == [1, [2], 3] && [[[1]]].flatten(9) == [1] && [].flatten() == []",
        "[3, 1, 2].sort() == [1, 2, 3] && ['b', 'B', 'a'].sort() == ['B', 'a', 'b'] && [b'b', b'a'].sort() == [b'a', b'b']",
        "[0.0 / 0.0, 1.0, -1.0].sort().slice(0, 2) == [-1.0, 1.0]",
        "[{'a': 2, 'b': 1}, {'a': 1}].sortBy(x, x.a).map(x, x.a) == [1, 2]",
        "[3, 1].sortBy(x, -x) == [3, 1] && ['bb', 'a'].sortBy(s, size(s)) == ['a', 'bb']",
        "[[3, 1], [2]].map(l, l.sortBy(x, x)) == [[1, 3], [2]] && [[2, 1]].sortBy(l, l.sortBy(x, x)[0]) == [[2, 1]]",
        "[1, 1u, 1.0, 2].distinct() == [1, 2] && [{1: 'a'}, {1u: 'a'}].distinct().size() == 1 && [null, null].distinct() == [null]",
        "['a', b'a'].distinct().size() == 2 && [0.0, -0.0].distinct().size() == 1",
        "[quantity('1'), quantity('1000m')].distinct().size() == 1",
        "[].sum() == 0 && [0.5, 0.25].sum() == 0.75 && [duration('1m')].sum() == duration('60s')",
        "[2, 1].min() == 1 && [timestamp(1), timestamp(0)].max() == timestamp(1) && [dyn(1), 2.5].max() == 2.5",
        "[1, 2, 2].isSorted() && ![2, 1].isSorted() && [true].isSorted() && ['a', 'B'].isSorted() == false",
        "[1, 2].indexOf(2.0) == 1 && [1, 2, 1].lastIndexOf(1u) == 2 && [].indexOf(1) == -1 && [1, 2, 3, 1].lastIndexOf(2) == 1",
        "lists.range(3).map(i, i * i) == [0, 1, 4] && lists.setAtIndex([1], 0, 2) == [2]",
        "lists.insertAtIndex([1], 1, 2) == [1, 2] && lists.removeAtIndex([1, 2], 0) == [2]",
        "{'a': 1}.merge({'a': 'x', 'b': 2}) == {'a': 'x', 'b': 2} && {1: 2}.merge({1u: 3}).size() == 2",
        "{'a': {'b': 1, 'c': 2}}.deepMerge({'a': {'b': 3}, 'd': 4}) == {'a': {'b': 3, 'c': 2}, 'd': 4}",
        "{1: 'x'}[1u] == 'x' && {1u: 'x'}[1] == 'x' && {1: 'x'}[1.0] == 'x' && 1.0 in {1: 2} && !(1.5 in {1: 2})",
        "{'a': 1, 'a': 2} == {'a': 2} && {true: 1}[true] == 1 && !('a' in {}) && !(null in [1])",
    ]);
    all_fail(&[
        ("[1, 'a'].sort()", "must have the same type"),
        ("[[1]].sort()", "must be comparable"),
        ("[null].max()", "have no order"),
        ("['a', 1].min()", "have no order"),
        ("['a'].sum()", "no such overload: sum(list)"),
        ("[1, 0.5].sum()", "no such overload"),
        ("[].max()", "empty list"),
        ("lists.range(-1)", "non-negative"),
        ("lists.setAtIndex([1], 1, 2)", "out of bounds"),
        ("lists.insertAtIndex([1], 2, 2)", "out of bounds"),
        ("[1].slice(-1, 1)", "negative indexes"),
        ("[1].merge([2])", "no such overload: merge(list, list)"),
        ("{'a': 1}.deepMerge([])", "no such overload: deepMerge(map, list)"),
        ("'a' in 'abc'", "no such overload"),
    ]);
}

#[test]
fn loops() {
    all_true(&[
        "{'b': 2, 'a': 1}.map(k, k) == ['a', 'b']",
        "[1, 2].exists_one(i, v, v > 1) && [1, 2].existsOne(i, v, i == 0) && ![1, 1].existsOne(i, v, v == 1)",
        "{'a': 1}.existsOne(k, v, k == 'a') && {'a': 1}.all(k, v, v == 1) && ![].exists(i, v, true) && [].all(i, v, false)",
        "['a', 'b'].transformMap(i, v, i > 0, v) == {1: 'b'} && {'a': 1}.transformList(k, v, v > 1, k) == []",
        "[1, 2].transformMapEntry(i, v, {string(v): i}) == {'1': 0, '2': 1} && [1].transformMapEntry(i, v, {}) == {}",
        "[1, 2, 3].map(x, x > 1, x * 2) == [4, 6] && [1, 2].filter(x, x > 1) == [2]",
        "[1, 2].map(x, [3, 4].map(y, x * y)) == [[3, 4], [6, 8]] && [1].map(x, [2].map(x, x)) == [[2]]",
        "[1].map(x, x) + [2] == [1, 2] && [[1, 2].exists(x, x == 2), true].all(x, x)",
        "cel.bind(x, [1, 2, 3], x.map(y, y + size(x))) == [4, 5, 6]",
        "optional.of({'a': 1}).optMap(v, v.a).value() == 1 && optional.none().optMap(v, v) == optional.none()",
        "[1].first().optMap(v, [v].first().optMap(w, v + w).value()).value() == 2",
        "optional.of([1]).optFlatMap(l, l[?0]) == optional.of(1) && optional.of([]).optFlatMap(l, l[?0]) == optional.none()",
        "has(has({'a': 1}.a)) && !has(has({'a': 1}.b))",
        "[?optional.none(), ?optional.of(1), 2] == [1, 2] && {?'a': optional.none(), ?'b': optional.of(1)} == {'b': 1}",
        "optional.unwrap([optional.of(1), optional.none()]) == [1] && [optional.of('x')].unwrapOpt() == ['x']",
        "optional.of(1).or(optional.of(2)) == optional.of(1) && optional.none().or(optional.of(2)).value() == 2",
        "!optional.ofNonZeroValue({}).hasValue() && !optional.ofNonZeroValue(null).hasValue() && optional.ofNonZeroValue([0]).hasValue()",
        "!optional.ofNonZeroValue(duration('0s')).hasValue() && !optional.ofNonZeroValue(b'').hasValue()",
        "!optional.ofNonZeroValue(0u).hasValue() && optional.ofNonZeroValue(1u).hasValue()",
        "!optional.ofNonZeroValue(0.0).hasValue() && !optional.ofNonZeroValue(-0.0).hasValue() && optional.ofNonZeroValue(0.5).hasValue()",
        // Of moments it is not 1970 that is nothing, but the beginning of Go's time.
        "!optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')).hasValue() && optional.ofNonZeroValue(timestamp(0)).hasValue()",
    ]);
    all_fail(&[
        ("[1].transformMap(i, v, [v], v)", "neither true nor false"),
        ("['a', 'a'].transformMapEntry(i, v, {v: i})", "already exists"),
        ("[1].transformMapEntry(i, v, v)", "no such overload"),
        ("[1].all(x, x)", "neither true nor false"),
        ("1.map(x, x)", "cannot be looped over"),
        ("optional.of([1]).map(x, x)", "cannot be looped over"),
        ("[1].map(1, 1)", "not an identifier"),
        ("[1].map(a.b, 1)", "not an identifier"),
        ("[1].map(.x, 1)", "not an identifier"),
        ("[1].transformList(i, i, i)", "duplicate variable name: i"),
        ("cel.bind(1, 2, 3)", "simple identifiers"),
        ("has(1)", "invalid argument to has()"),
        ("has(a)", "invalid argument to has()"),
        ("'a'.bind(x, 1, x)", "no function \"bind\""),
        ("runtime.newCondition({type: 'A'})", "'status' is required"),
        ("runtime.newCondition({'type': 'A', status: 'True'})", "bare identifiers"),
        ("runtime.newCondition({type: 'A', type: 'B', status: 'True'})", "duplicate key"),
        ("runtime.newCondition([])", "map literal"),
        ("math.abs(1)", "no function \"abs\""),
        ("if + 1", "reserved identifier: if"),
    ]);
}

#[test]
fn numbers_and_moments() {
    all_true(&[
        "int('+5') == 5 && int(-1.9) == -1 && int('-9223372036854775808') < 0 && uint('18446744073709551615') > 0u",
        "double('1e-3') == 0.001 && double('0x1p-2') == 0.25 && double('.5') == 0.5 && string(double('-inf')) == '-Inf'",
        "string(100000.0) == '100000' && string(1e5 * 10.0) == '1e+06' && string(0.00012) == '0.00012' && string(-1e-5) == '-1e-05'",
        "string(true) == 'true' && string(b'') == '' && bytes('é') == b'é' && bytes(b'x') == b'x'",
        "dyn(1u) == 1.0 && dyn(2) > 1.5 && dyn(1) < 2u && 1.0 / 3.0 != 0.3 && dyn(18446744073709551615u) > dyn(-1)",
        "b'\\x00' < b'\\x01' && 'a' < 'b' && false < true && !(duration('1s') < duration('1s'))",
        "type(1) == int && type(1u) == uint && type('') == string && type(b'') == bytes && type(null) == null_type",
        "type([]) == list && type({}) == map && type(int) == type && type(timestamp(0)) == google.protobuf.Timestamp",
        "type(url('/')) == kubernetes.URL && type(ip('::1')) == net.IP && type(quantity('1')) == kubernetes.Quantity",
        "type(optional.none()) == optional_type && type(duration('0')) == google.protobuf.Duration && type(1) != double",
        "timestamp('2024-02-29T23:59:59Z').getDayOfYear() == 59 && timestamp('2024-12-31T00:00:00Z').getMonth() == 11",
        "timestamp('2024-01-01T00:00:00+02:00').getHours() == 22 && timestamp('2024-01-01T00:00:00Z').getDate('-00:30') == 31",
        "timestamp('2024-07-01T00:30:00Z').getDate('America/New_York') == 30 && timestamp(0).getHours('Asia/Kolkata') == 5",
        "timestamp(60) - timestamp(0) == duration('1m') && timestamp(0) + duration('-1s') < timestamp(0)",
        "duration('1h') + timestamp(0) == timestamp(3600) && duration('-90m').getHours() == -1",
        "string(timestamp('2024-01-01T00:00:00.100Z')) == '2024-01-01T00:00:00.1Z' && string(duration('1m0.25s')) == '60.25s'",
        "timestamp(timestamp(5)) == timestamp(5) && duration(duration('1s')) == duration('1s') && int(timestamp(7)) == 7",
        "null == null && !(null == dyn(0)) && dyn(null) != '' && {} == {} && [] != [null]",
        "-(-1) == 1 && 7 / -2 == -3 && -7 % 2 == -1 && 2u * 3u == 6u && -9223372036854775808 < 0",
    ]);
    all_fail(&[
        ("int('1.0')", "type conversion error"),
        ("int(' 1')", "type conversion error"),
        ("int(9223372036854775807.0)", "integer overflow"),
        ("int(0.0 / 0.0)", "integer overflow"),
        ("uint(-0.5)", "unsigned integer overflow"),
        ("uint('-1')", "type conversion error"),
        ("double('1e999')", "type conversion error"),
        ("string(null)", "no such overload: string(null_type)"),
        ("string(type(1))", "no such overload: string(type)"),
        ("string(omit())", "no such overload: string(kro.omit)"),
        ("bool('yes')", "type conversion error"),
        ("int(true)", "no such overload: int(bool)"),
        ("-9223372036854775808 / -1", "integer overflow"),
        ("-9223372036854775808 % -1", "integer overflow"),
        ("-(-9223372036854775807 - 1)", "integer overflow"),
        ("0u - 1u", "unsigned integer overflow"),
        ("timestamp('2024-02-30T00:00:00Z')", "invalid RFC 3339"),
        ("timestamp('2024-01-01T00:00:00,5Z')", "invalid RFC 3339"),
        ("timestamp('2024-1-1T00:00:00Z')", "invalid RFC 3339"),
        ("timestamp(253402300800)", "timestamp overflow"),
        ("timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z')", "duration overflow"),
        ("timestamp(0).getHours('25:00')", "unknown time zone"),
        ("timestamp(0).getHours('Mars/Olympus')", "unknown time zone"),
        ("duration('1s') * 2", "no such overload"),
        ("0.0 / 0.0 < 1.0", "NaN"),
        ("true < 1", "have no order"),
    ]);
}

#[test]
fn kubernetes_and_kro() {
    all_true(&[
        "quantity('1').add(quantity('1Ki')) == quantity('1025') && quantity('1').sub(2) == quantity('-1') && sign(quantity('-1m')) == -1",
        "isQuantity('-') && isQuantity('1e3') && !isQuantity('1e') && quantity('1e3').asInteger() == 1000",
        "quantity('1').isLessThan(quantity('1.1')) && quantity('2').compareTo(quantity('2000m')) == 0",
        "semver('1.2.3-rc.1').isLessThan(semver('1.2.3')) && semver('1.2.3+a') == semver('1.2.3+b') && !isSemver('v1.2.3')",
        "semver('1.0.0-alpha.10').isGreaterThan(semver('1.0.0-alpha.9')) && !isSemver('1.2') && !isSemver('01.2.3') && !isSemver('1.2.3-')",
        "ip('10.0.0.1').family() == 4 && ip('ff02::1').isLinkLocalMulticast() && !ip('239.0.0.1').isGlobalUnicast()",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP('::1') && cidr('::/0').containsCIDR('::1/128')",
        "isCIDR('::1/0') && !isCIDR('10.0.0.0/08') && string(cidr('10.1.2.3/8').masked().ip()) == '10.0.0.0'",
        "!isIP('1.2.3') && !isIP('fe80::1%eth0') && ip.isCanonical('::1') && !ip.isCanonical('::0001')",
        "url('HTTP://a:80/x?y=1&y=2').getQuery() == {'y': ['1', '2']} && url('http://a').getScheme() == 'http'",
        "!isURL('a b') && isURL('/a') && isURL('mailto:x') && url('http://a/b') != url('http://a/c')",
        "base64.decode('YQ') == b'a' && base64.decode('YQ==\\n') == b'a' && base64.encode(b'') == ''",
        "hash.fnv64a('a') == hash.fnv64a('a') && size(hash.md5('')) == 16 && hash.sha256('a') != hash.sha256('b')",
        "random.seededInt(-9223372036854775808, 9223372036854775807, 'x') == random.seededInt(-9223372036854775808, 9223372036854775807, 'x')",
        "random.seededString(9, 'a').charAt(0) == random.seededString(9, 'a').charAt(8)",
        "json.marshal({'b': [1.0, 1e21, '<&>'], 'a': null}) == '{\"a\":null,\"b\":[1,1e+21,\"\\\\u003c\\\\u0026\\\\u003e\"]}'",
        "json.marshal('\\x07\\b\\f\\n') == '\"\\\\u0007\\\\b\\\\f\\\\n\"' && json.marshal(optional.none()) == 'null'",
        "json.unmarshal(' [1, {\"a\": null}] ') == [1.0, {'a': null}] && type(json.unmarshal('1')) == double",
        "json.marshal(18446744073709551615u) == '18446744073709551615' && json.marshal(-0.0) == '0'",
        "runtime.newCondition({type: 'A', status: 'True'}) == runtime.newCondition({status: 'True', type: 'A'})",
    ]);
    all_fail(&[
        ("quantity('1Pi').asInteger()", "cannot convert value to integer"),
        ("quantity('x')", "not a quantity"),
        ("quantity(1)", "no such overload: quantity(int)"),
        ("quantity('1').compareTo(1)", "no such overload"),
        ("quantity('1') + quantity('1')", "no such overload"),
        ("quantity('1') < quantity('2')", "have no order"),
        ("semver('1.2')", "semver: "),
        ("semver('1.2.3').compareTo(quantity('1'))", "no such overload"),
        ("ip.isCanonical('x')", "no IP address"),
        ("ip('1.2.3.4').masked()", "no such overload: masked(net.IP)"),
        ("cidr('10.0.0.0/8').containsIP('x')", "no IP address"),
        ("url('relative')", "invalid URI"),
        ("base64.decode('_-8=')", "illegal base64"),
        ("base64.encode('a')", "no such overload: base64.encode(string)"),
        ("json.unmarshal('1e999')", "failed to parse JSON"),
        ("json.marshal(1.0 / 0.0)", "JSON cannot hold"),
        ("json.marshal(url('/'))", "no form in JSON"),
        ("random.seededString(0, 'a')", "must be positive"),
        ("random.seededInt(1, 1, 'a')", "less than max"),
        ("runtime.condition({'status': {'conditions': {}}}, 'A')", "must be a list"),
        ("dyn(url('/')) == 1", "no such overload"),
    ]);
}

#[test]
fn names_are_what_comes_from_outside() {
    let evaluator = patient();
    for (source, names) in [
        ("schema.spec.a + b['c'] + d.?e.orValue(f)", vec!["b", "d", "f", "schema"]),
        ("l.map(x, x + y) + cel.bind(z, x, z)", vec!["l", "x", "y"]),
        ("l.transformMap(i, v, i == j, v)", vec!["j", "l"]),
        ("o.optMap(v, v.a).orValue(v)", vec!["o", "v"]),
        ("l.sortBy(e, e.n + k)", vec!["k", "l"]),
        ("json.marshal(json) + hash.sha256(s) + hash.x", vec!["hash", "json", "s"]),
        ("type(x) == int && type(y) == google.protobuf.Timestamp && google.x == 1", vec!["google", "x", "y"]),
        ("map.spec.x == list.size() && string(int[0]) == type(map)", vec!["int", "list", "map"]),
        // No more than the name of a type, and no type though it ends, or begins, like one.
        ("type(x) == google.protobuf.Timestamp", vec!["x"]),
        ("x.IP + protobuf.Timestamp", vec!["protobuf", "x"]),
        ("runtime.newCondition({type: 'A', status: s})", vec!["runtime", "s"]),
        ("runtime.condition(schema, 'Ready').status", vec!["runtime", "schema"]),
        ("has(a.b.c) && [?b] == {?'x': c}", vec!["a", "b", "c"]),
        ("optional.of(x)", vec!["x"]),
        ("1", vec![]),
    ] {
        let program = evaluator.compile("", source).unwrap();
        assert_eq!(program.variables(), names, "{source}");
    }
    // Variables may have the names of types and of functions' spaces.
    let values = json!({
        "map": {"x": 1}, "json": {"y": "a"}, "list": [1, 2], "url": {"z": 3}, "x": {"IP": 5}, "protobuf": {"Timestamp": 6},
    });
    for (source, expected) in [
        ("map.x + list[0] + url.z", json!(5)),
        ("json.marshal(json)", json!("{\"y\":\"a\"}")),
        ("json.y", json!("a")),
        ("x.IP + protobuf.Timestamp", json!(11)),
        ("map.map(k, list.map(v, v)).size()", json!(1)),
    ] {
        assert_eq!(value_of(&evaluator, source, &values), Ok(expected), "{source}");
    }
}

#[test]
fn macros_become_the_nodes_that_the_checker_of_types_knows() {
    use cel_interpreter::common::ast::{Expr, operators};
    use runtime_cel::graph::macros;

    let evaluator = patient();
    for (source, accumulator, variables) in [
        ("l.transformMap(k, v, v)", macros::ACCUMULATOR, ("k", Some("v"))),
        ("l.all(i, v, v)", macros::ACCUMULATOR, ("i", Some("v"))),
        ("l.map(x, x)", macros::ACCUMULATOR, ("x", None)),
        ("cel.bind(x, 1, x)", "x", (macros::UNUSED, None)),
        ("l.sortBy(x, x)", macros::SORTED, (macros::UNUSED, None)),
        ("a.b.optMap(x, x)", macros::TARGET, (macros::UNUSED, None)),
    ] {
        let program = evaluator.compile("", source).unwrap();
        let Expr::Comprehension(comprehension) = &program.expression().expr else { panic!("{source}") };
        assert_eq!(comprehension.accu_var, accumulator, "{source}");
        assert_eq!((comprehension.iter_var.as_str(), comprehension.iter_var2.as_deref()), variables, "{source}");
        assert_eq!(macros::bound(comprehension), variables.0 == macros::UNUSED, "{source}");
    }
    // `all` goes on while it is true, `exists` while it is not.
    for (source, negated) in [("l.all(x, x)", false), ("l.exists(x, x)", true)] {
        let program = evaluator.compile("", source).unwrap();
        let Expr::Comprehension(comprehension) = &program.expression().expr else { panic!("{source}") };
        let goes_on = format!("{:?}", comprehension.loop_cond);
        assert!(goes_on.contains(operators::NOT_STRICTLY_FALSE), "{source}: {goes_on}");
        assert_eq!(goes_on.contains(operators::LOGICAL_NOT), negated, "{source}: {goes_on}");
    }
    let value: Value =
        json!(format!("{:?}", evaluator.compile("", "l.transformMapEntry(i, v, {v: i})").unwrap().expression()));
    assert!(value.as_str().unwrap().contains(macros::MAP_INSERT));
}
