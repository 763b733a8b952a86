//! The functions that people know from Kubernetes.

use super::{ask, object, patient};

#[test]
fn functions_that_people_know_from_kubernetes() {
    let evaluator = patient();
    for source in [
        // Quantities.
        "quantity('1Gi') == quantity('1024Mi') && quantity('1Gi') != quantity('1G')",
        "quantity('8Gi') >= quantity('8G') && quantity('250m') < quantity('0.3') && quantity('-1') <= quantity('0')",
        "quantity(self.spec.count) == quantity('3') && quantity(self.spec.ratio) == quantity('500m')",
        "quantity(self.spec.big) > quantity('1E')",
        "quantity('2').isGreaterThan(quantity('1')) && quantity('1').isLessThan(quantity('2'))",
        "quantity('2').compareTo(quantity('1')) == 1 && quantity('1k').compareTo(quantity('1000')) == 0",
        "quantity('1').compareTo(quantity('2')) == -1",
        "quantity('1Ki').asInteger() == 1024 && quantity('1Ki').isInteger() && !quantity('1m').isInteger()",
        "quantity('500m').asApproximateFloat() == 0.5",
        "isQuantity('8Gi') && isQuantity(3) && !isQuantity('8Gib') && !isQuantity('') && !isQuantity([1])",
        "[quantity('1Gi'), quantity('1G')].min() == quantity('1G') && quantity('1') in [quantity('1')]",
        // Texts.
        "'aÄB'.lowerAscii() == 'aÄb' && 'aäB'.upperAscii() == 'AäB' && ' \\t a b\\n'.trim() == 'a b'",
        "'äbc'.charAt(1) == 'b' && 'äbc'.charAt(3) == ''",
        "'äbcd'.substring(2) == 'cd' && 'äbcd'.substring(0, 2) == 'äb' && 'ä'.substring(1) == ''",
        "'äbäb'.indexOf('b') == 1 && 'äbäb'.indexOf('b', 2) == 3 && 'a'.indexOf('x') == -1 && 'a'.indexOf('') == 0",
        "'äbäb'.lastIndexOf('ä') == 2 && 'a'.lastIndexOf('x') == -1 && 'äb'.lastIndexOf('') == 2",
        "'a-b-c'.replace('-', '') == 'abc' && 'a-b-c'.replace('-', '++', 1) == 'a++b-c' && 'ab'.replace('', '.') == '.a.b.'",
        "'a-b'.replace('-', '+', 0) == 'a-b' && 'a-b'.replace('-', '+', -1) == 'a+b'",
        "'a,b,,c'.split(',') == ['a', 'b', '', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'a'.split(',', 0) == []",
        "'äb'.split('') == ['ä', 'b'] && 'abc'.split('', 2) == ['a', 'bc'] && ''.split('') == [] && ''.split(',') == ['']",
        "'a,'.split(',') == ['a', ''] && 'a,b'.split(',', -1) == ['a', 'b'] && 'a,b'.split(',', 1) == ['a,b']",
        "self.spec.zones.join('-') == 'a-b' && ['a', 'b'].join() == 'ab' && [].join(',') == ''",
        "self.spec.fqdn.split('.').map(p, p.upperAscii()).join('.') == 'A.INTERNAL.CORP'",
        // Lists.
        "[1, 2, 3].sum() == 6 && [0.5, 1.5].sum() == 2.0 && [].sum() == 0 && [1u, 2u].sum() == 3u",
        "[duration('1m'), duration('30s')].sum() == duration('90s')",
        "[2, 1, 3].min() == 1 && [2, 1, 3].max() == 3 && ['b', 'a'].min() == 'a' && self.spec.zones.max() == 'b'",
        "self.spec.hosts[0].ports.sum() == 523 && self.spec.hosts.map(h, h.ports.size()).max() == 2",
        "self.spec.zones.indexOf('b') == 1 && [1, 2, 1].lastIndexOf(1) == 2 && self.spec.zones.indexOf('z') == -1",
        "self.spec.hosts.indexOf({'name': 'y', 'ports': []}) == 1",
        "[1, 1, 2].isSorted() && !['b', 'a'].isSorted() && [].isSorted()",
        // What CEL has by itself.
        "'abc'.startsWith('a') && 'abc'.endsWith('c') && 'abc'.contains('b') && size('äb') == 2 && has(self.spec)",
    ] {
        assert_eq!(ask(&evaluator, source, &object()), Ok(true), "{source}");
    }
    for (source, says) in [
        ("quantity('8Gib') == quantity('8')", "\"8Gib\" is not a number or a quantity"),
        ("quantity(self.spec) == quantity('8')", "a map is no quantity"),
        ("quantity('1') > 1", "no matching overload"),
        ("quantity('1') + quantity('1') == quantity('2')", "does not take these two values"),
        ("quantity('1m').asInteger() == 1", "0.001 is no whole number"),
        ("quantity('100E').asInteger() == 1", "no whole number of 64 bits"),
        ("'ab'.substring(3) == ''", "index 3 is not within a text of 2 characters"),
        ("'ab'.substring(2, 1) == ''", "ends before it begins"),
        ("'ab'.charAt(-1) == ''", "index -1"),
        ("[1].join() == ''", "an element is a int"),
        ("['a'].sum() == 'a'", "sum"),
        ("[[1], [2]].sum() == [1, 2]", "does not take a list"),
        ("[].min() == 1", "the list is empty"),
        ("[{}].max() == {}", "does not take a map"),
        ("self.spec.trim() == ''", "trim"),
    ] {
        let error = ask(&evaluator, source, &object()).unwrap_err().to_string();
        assert!(error.contains(says), "{source}: {error}");
    }
}

#[test]
fn functions_that_do_not_exist_are_told_when_compiled() {
    let evaluator = patient();
    for (source, name) in [
        ("self.spec.fqdn.startWith('a')", "startWith"),
        ("true || frobnicate(self)", "frobnicate"),
        ("self.l.all(x, x.frob() == 1)", "frob"),
        ("self.l.map(x, frob(x))", "frob"),
        ("[{'a': self.frob()}]", "frob"),
        ("optional.frob(1)", "frob"),
        ("self.map(1)", "map"),
        // A function is not a method, nor the other way round.
        ("quantity('1').quantity()", "quantity"),
        ("trim('a')", "trim"),
    ] {
        let error = evaluator.compile(source).unwrap_err().to_string();
        assert!(error.contains(&format!("there is no function {name:?}")), "{source}: {error}");
    }
    for source in [
        "optional.of(1).hasValue() && optional.none().orValue(true)",
        "timestamp(self.t).getFullYear() + timestamp(self.t).getHours('UTC') == duration('1h').getMinutes()",
        "dyn(self) == bytes('a') || string(uint(1)) == string(double(int(bool('true') ? 1 : 0)))",
        "[optional.of(1)].map(o, o.value())",
        "type(self) == map && !(-self.a in [1]) && self.?b[?0].or(optional.of(1)).value() > 2",
    ] {
        assert!(evaluator.compile(source).is_ok(), "{source}: {:?}", evaluator.compile(source));
    }
}
