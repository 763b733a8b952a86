//! Words that make their plural otherwise, and endings that do. The order of the endings counts.

/// Words, and their plurals, that count only as a whole.
#[rustfmt::skip]
pub(super) const WHOLE: [(&str, &str); 13] = [
    ("ox", "oxen"), ("louse", "lice"), ("die", "dice"), ("axis", "axes"), ("alias", "aliases"), ("use", "uses"),
    ("toe", "toes"), ("ssh", "sshs"), ("eia", "eias"), ("tia", "tias"), ("adieus", "adieus"), ("formulae", "formulae"),
    ("octopi", "octopi"),
];

/// Words, and their plurals, that count at the end of a word too.
#[rustfmt::skip]
pub(super) const WORDS: [(&str, &str); 100] = [
    ("aircraft", "aircraft"), ("beef", "beef"), ("bison", "bison"), ("blues", "blues"), ("chassis", "chassis"),
    ("deer", "deer"), ("fish", "fish"), ("moose", "moose"), ("police", "police"), ("salmon", "salmon"),
    ("series", "series"), ("sheep", "sheep"), ("shrimp", "shrimp"), ("species", "species"), ("swine", "swine"),
    ("trout", "trout"), ("tuna", "tuna"), ("you", "you"), ("equipment", "equipment"), ("information", "information"),
    ("jeans", "jeans"), ("money", "money"), ("news", "news"), ("rice", "rice"), ("media", "media"),
    ("graffiti", "graffiti"), ("child", "children"), ("foot", "feet"), ("goose", "geese"), ("human", "humans"),
    ("woman", "women"), ("man", "men"), ("mouse", "mice"), ("tooth", "teeth"), ("person", "people"),
    ("adieu", "adieux"), ("fabliau", "fabliaux"), ("bureau", "bureaus"), ("criterion", "criteria"),
    ("ganglion", "ganglia"), ("lexicon", "lexica"), ("mitochondrion", "mitochondria"), ("noumenon", "noumena"),
    ("phenomenon", "phenomena"), ("taxon", "taxa"), ("medium", "media"), ("stadium", "stadiums"),
    ("aquarium", "aquaria"), ("auditorium", "auditoria"), ("symposium", "symposia"), ("curriculum", "curriculums"),
    ("pretorium", "pretoriums"), ("quota", "quotas"), ("agenda", "agendas"), ("formula", "formulas"),
    ("vedalia", "vedalias"), ("alumnus", "alumni"), ("bacillus", "bacilli"), ("cactus", "cacti"),
    ("coccus", "cocci"), ("focus", "foci"), ("locus", "loci"), ("nucleus", "nuclei"), ("octopus", "octupuses"),
    ("radius", "radii"), ("syllabus", "syllabi"), ("corpus", "corpora"), ("genus", "genera"), ("alumna", "alumnae"),
    ("vertebra", "vertebrae"), ("differentia", "differentiae"), ("minutia", "minutiae"), ("vita", "vitae"),
    ("larva", "larvae"), ("postcava", "postcavae"), ("praecava", "praecavae"), ("uva", "uvae"), ("apex", "apices"),
    ("codex", "codices"), ("index", "indices"), ("latex", "latices"), ("vertex", "vertices"), ("vortex", "vortices"),
    ("appendix", "appendices"), ("radix", "radices"), ("helix", "helices"), ("crisis", "crises"),
    ("ellipsis", "ellipses"), ("genesis", "geneses"), ("oasis", "oases"), ("thesis", "theses"), ("testis", "testes"),
    ("basis", "bases"), ("topaz", "topazes"), ("buffalo", "buffaloes"), ("potato", "potatoes"),
    ("tomato", "tomatoes"), ("dwarf", "dwarfs"), ("hoof", "hoofs"), ("thief", "thieves"),
];

/// Endings, and theirs in the plural.
#[rustfmt::skip]
pub(super) const ENDINGS: [(&str, &str); 76] = [
    ("tive", "tives"), ("eaf", "eaves"), ("oaf", "oaves"), ("afe", "aves"), ("arf", "arves"), ("rfe", "rves"),
    ("rf", "rves"), ("lf", "lves"), ("fe", "ves"), ("ay", "ays"), ("ey", "eys"), ("oy", "oys"), ("quy", "quies"),
    ("uy", "uys"), ("y", "ies"), ("eau", "eaux"), ("bula", "bulae"), ("dula", "bulae"), ("lula", "bulae"),
    ("nula", "bulae"), ("vula", "bulae"), ("hedron", "hedra"), ("ium", "ia"), ("seum", "seums"), ("eum", "ea"),
    ("oum", "oa"), ("stracum", "straca"), ("dum", "da"), ("elum", "ela"), ("ilum", "ila"), ("olum", "ola"),
    ("ulum", "ula"), ("llum", "lla"), ("ylum", "yla"), ("imum", "ima"), ("ernum", "erna"), ("gnum", "gna"),
    ("brum", "bra"), ("crum", "cra"), ("terum", "tera"), ("serum", "sera"), ("trum", "tra"), ("antum", "anta"),
    ("entum", "enta"), ("atum", "ata"), ("etum", "eta"), ("itum", "ita"), ("otum", "ota"), ("utum", "uta"),
    ("ctum", "cta"), ("ovum", "ova"), ("trix", "trices"), ("iasis", "iases"), ("mesis", "meses"),
    ("kinesis", "kineses"), ("resis", "reses"), ("gnosis", "gnoses"), ("opsis", "opses"), ("ysis", "yses"),
    ("ouse", "ouses"), ("lause", "lauses"), ("us", "uses"), ("ch", "ches"), ("io", "ios"), ("sh", "shes"),
    ("ss", "sses"), ("ez", "ezzes"), ("iz", "izzes"), ("tz", "tzes"), ("zz", "zzes"), ("ano", "anos"), ("lo", "los"),
    ("to", "tos"), ("oo", "oos"), ("o", "oes"), ("x", "xes"),
];
