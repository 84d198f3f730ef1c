//! What every code of a finding means, with an example of the mistake and of its remedy.

mod adl;

/// The explanation of one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The code.
    pub code: &'static str,
    /// What is wrong and why it matters.
    pub what: &'static str,
    /// The mistake, as it stands in a file.
    pub wrong: &'static str,
    /// The remedy.
    pub right: &'static str,
}

/// The explanation of a code as text.
pub fn explain(code: &str) -> Option<String> {
    let c = CODES.iter().chain(adl::CODES).find(|c| c.code.eq_ignore_ascii_case(code))?;
    let indented = |t: &str| t.lines().map(|l| format!("    {l}\n")).collect::<String>();
    Some(format!("{}: {}\n\nWrong:\n{}\nRight:\n{}", c.code, c.what, indented(c.wrong), indented(c.right)))
}

/// All codes, for lists and for "did you mean".
pub fn all() -> impl Iterator<Item = &'static str> {
    CODES.iter().chain(adl::CODES).map(|c| c.code)
}

const fn c(code: &'static str, what: &'static str, wrong: &'static str, right: &'static str) -> Code {
    Code { code, what, wrong, right }
}

/// The table.
pub const CODES: &[Code] = &[
    c("D001", "No domain has this name. A domain is a folder kb/NAME with a file ontology.yaml.", "duologue check libary", "duologue check library"),
    c(
        "D002",
        "A role of the ontology names a rule file that does not exist. Rule files are named relative to the folder rules/.",
        "rules: [library/raeder.lp]",
        "rules: [library/reader.lp]",
    ),
    c(
        "D003",
        "A file of the knowledge base holds something other than a fact without variables. Rules belong below rules/.",
        "book(B) :- fee(B,_).",
        "book(\"Odes\"). fee(\"Odes\",50).",
    ),
    c(
        "D004",
        "A domain has no templates, so nothing it decides could be said.",
        "kb/library/ontology.yaml alone",
        "kb/library/ontology.yaml and kb/library/templates.yaml",
    ),
    c("P001", "A step of a script goes on at a label or block, or calls a function, that the program does not have.", "jump aks", "jump ask"),
    c("D005", "The universe that `verify` searches is no YAML of the expected form.", "depth: two", "depth: 2"),
    c("O001", "The ontology is no YAML of the expected form.", "sorts: [BOOK]", "sorts:\n  BOOK: {names: [book]}"),
    c("O002", "A form uses a sort that is not declared. Sorts are written in capitals and declared under `sorts`.", "form: borrow(BOK)", "form: borrow(BOOK)"),
    c("O003", "A form is no predicate with sorts, constants and functions as arguments.", "form: borrow BOOK", "form: borrow(BOOK)"),
    c("O004", "An input is given to a role that is not declared under `roles`.", "roles: [raeder]", "roles: [reader]"),
    c("O005", "A fact lives in one of the scopes kb (durable), shared (the whole site) and session (one conversation).", "scope: local", "scope: session"),
    c("O006", "A right is written as SCOPE.PREDICATE, or kb.* for all facts of the scope.", "may_change: [lent]", "may_change: [shared.lent]"),
    c(
        "O007",
        "An example is written as `[last actions] what is said => predicate; predicate`, the first part optional.",
        "- the atlas please",
        "- 'the atlas please => borrow(\"World Atlas\")'",
    ),
    c(
        "O008",
        "The `view` section does not say how `view` atoms are shown: every entry is a `value`, `values` or `lines` with its form, and the text is a template.",
        "view: {shown: [{value: due}]}",
        "view: {shown: [{value: due(CENTS)}], text: 'due: {{ due | money }}'}",
    ),
    c(
        "O009",
        "A setting has a name and one value: a form NAME(SORT) that is no fact of the domain, and a default of that sort.",
        "- {form: limit(COUNT), default: many, means: \"at most {1} of one item\"}",
        "- {form: limit(COUNT), default: 25, means: \"at most {1} of one item\"}",
    ),
    c("T001", "The template file is no YAML of the expected form.", "rules: {bye: Goodbye}", "rules:\n  - {action: bye, say: ['Goodbye!']}"),
    c(
        "T002",
        "A pattern could not be read. Variables are capitals, names stand in double quotes, `_` is anything.",
        "action: 'confirm(borrow, B'",
        "action: 'confirm(borrow, B)'",
    ),
    c(
        "T003",
        "A rule or group either says a sentence of its own (`say`) or is an item of a group (`item` with `in`).",
        "{action: bye, item: 'Goodbye'}",
        "{action: bye, say: ['Goodbye!']}",
    ),
    c(
        "T004",
        "A text names a variable that no pattern of its rule binds, or a list that nothing fills.",
        "{action: 'answer(B, S)', say: ['{Book} stands {S}.']}",
        "{action: 'answer(B, S)', say: ['{B} stands {S}.']}",
    ),
    c(
        "T005",
        "A pattern matches no action (or input) that the ontology declares, so its rule would never be taken.",
        "action: 'confrm(borrow, B)'",
        "action: 'confirm(borrow, B)'",
    ),
    c("T006", "A group is unknown, declared twice, never filled, given the wrong number of arguments, or an item of itself.", "in: takn", "in: taken"),
    c("T007", "A template is limited to a role that is not declared.", "roles: [raeder]", "roles: [reader]"),
    c(
        "T008",
        "A text is not in the language of templates: a brace or bracket without its partner, or an unknown filter.",
        "say: ['That is {C|mony}.']",
        "say: ['That is {C|money}.']",
    ),
    c(
        "T009",
        "An action of the ontology has no template that holds in every case. It would be said by a generic sentence.",
        "{action: 'confirm(borrow, B)', say: ['{B}.']}   # and nothing for other confirmations",
        "{action: 'confirm(What, B)', fallback: true, say: ['{What} {B}.']}   # below it",
    ),
    c(
        "T010",
        "The first rule that fits is taken, and a rule above this one fits whenever this one would.",
        "- {action: ask(Q), say: ['{Q}?']}\n- {action: ask(days), say: ['How long?']}",
        "- {action: ask(days), say: ['How long?']}\n- {action: ask(Q), say: ['{Q}?']}",
    ),
    c(
        "T011",
        "A file of replies (replies.yaml) is no YAML of the expected form, or a pattern or phrase in it cannot be read.",
        "- {part: clause, say: ['you get <ordered+']}",
        "- {part: clause, say: ['you get <ordered+>']}",
    ),
    c(
        "T012",
        "A bank of wordings (wordings.yaml) is no YAML of the expected form, or words a sentence that the templates do not have.",
        "- {of: 'You have {B}.', say: ['{B} is yours.']}   # the templates say 'You have got {B}.'",
        "- {of: 'You have got {B}.', say: ['{B} is yours.']}",
    ),
    c(
        "template-missing",
        "The rules can bring about an action for which only a rule marked `fallback` has words: a question slot, a refusal reason or a confirmation was added without its sentence.",
        "slot(colour,3).   # and no template for ask(colour)",
        "{action: ask(colour), say: ['Which colour?']}",
    ),
    c("U001", "A file of the embedded translator is no YAML of the expected form.", "names: [whale]", "names:\n  whale: [Moby Dick]"),
    c("U002", "A pattern or value of the embedded translator could not be compiled.", "(two|couple", "(two|couple)"),
    c("U003", "The learned model of the embedded translator cannot be read.", "a model.txt cut off", "duologue train --domain library --root ."),
    c(
        "U004",
        "The learned model is missing or was not learned from the examples beside it: what was added to them has no effect yet.",
        "a line added to kb/library/examples.jsonl",
        "duologue train --domain library --root .",
    ),
    c("synonym-dangling-name", "Another name stands for a name that no fact mentions, so nobody could mean it.", "whale: [Mobby Dick]", "whale: [Moby Dick]"),
    c(
        "rule-syntax",
        "The rule file does not follow the grammar at this place; often the statement before it lacks its full stop.",
        "a :- b\nc :- d.",
        "a :- b.\nc :- d.",
    ),
    c("rule-too-deep", "A term nests deeper than the engine reads.", "p(f(f(f(f(f(f(f(f(f(f(1)))))))))))).", "step(1,2). step(2,3)."),
    c("rule-number-too-large", "Numbers have 32 bits. Count money in cents and keep sums below 2147483648.", "limit(3000000000).", "limit(300000)."),
    c("rule-pool", "A pool over several arguments is not supported; a pool inside one argument is.", "p(1,2;3,4).", "p(1,2). p(3,4)."),
    c("rule-body-choice", "A choice stands in a body. Bodies count with aggregates instead.", "a :- 1 { b ; c } 1.", "a :- #count { b : b ; c : c } = 1."),
    c("rule-classical-negation", "Classical negation (`-p`) is not supported; `not p` says that p does not hold.", "a :- -b.", "a :- not b."),
    c(
        "rule-directive-refused",
        "This directive could read files, run programs or change what others see, so rule files may not use it.",
        "#include \"other.lp\".",
        "# name the file under `rules` of the role in the ontology",
    ),
    c("rule-directive-unknown", "There is no such directive.", "#sho act/3.", "#show act/3."),
    c(
        "rule-external-function",
        "Rules cannot call functions of the host; what they need comes in as a fact.",
        "now(T) :- T = @clock().",
        "later :- time(T), T > 1200.",
    ),
    c("rule-program-part", "Rule files have one part only.", "#program step(t).", "% put the rules into the base part"),
    c(
        "rule-unknown-predicate",
        "A rule asks for a predicate that no rule derives, no fact declares and no turn brings, with this number of arguments: mostly a slip of spelling. The rule could never apply.",
        "take(B) :- in(_,borrow(B)), bok(B).",
        "take(B) :- in(_,borrow(B)), book(B).",
    ),
    c(
        "rule-unsafe-variable",
        "Nothing in the rule says what the variable can be: every variable must occur in a condition that is neither negated nor a mere comparison.",
        "act(9,0,bye) :- not loan(B).",
        "act(9,0,bye) :- book(B), not loan(B).",
    ),
    c("rule-shown-unknown", "A predicate is shown that nothing derives.", "#show views/2.", "#show view/2."),
    c(
        "rule-never-used",
        "Nothing that is shown depends on this rule, for any role that reads the file: a predicate is misspelt where it is used, or the rule is left over.",
        "shiny(B) :- book(B).",
        "% remove it, or use shiny/1 in a rule that leads to an action",
    ),
    c(
        "reading-without-rule",
        "A reading (`%:`) stands directly above the rule whose English it is.",
        "%: {B} is taken\n\ntake(B) :- in(_,borrow(B)).",
        "%: {B} is taken\ntake(B) :- in(_,borrow(B)).",
    ),
    c(
        "reading-unknown-variable",
        "A reading names a variable that its rule does not have, so the explanation could not fill it in.",
        "%: {Book} is taken\ntake(B) :- in(_,borrow(B)).",
        "%: {B} is taken\ntake(B) :- in(_,borrow(B)).",
    ),
    c(
        "rule-unknown-input",
        "A rule waits for an input that no role may say, so it could never apply.",
        "take(B) :- in(_,borow(B)).",
        "take(B) :- in(_,borrow(B)).",
    ),
    c(
        "rule-unknown-action",
        "A rule brings about an action that the ontology does not declare, directly or through other predicates; it would have neither meaning nor words.",
        "act(2,0,conform(borrow,B)) :- take(B).",
        "act(2,0,confirm(borrow,B)) :- take(B).",
    ),
    c(
        "rule-unknown-function",
        "A rule calls a function that the ontology does not declare, or asks what such a call gave.",
        "do(1,call(\"sned_notice\")) :- take(B).",
        "do(1,call(\"send_notice\")) :- take(B).",
    ),
    c(
        "rule-unknown-call-input",
        "A rule gives a call an input that no declared function has.",
        "with(1,\"bok\",B) :- take(B).",
        "with(1,\"book\",B) :- take(B).",
    ),
    c(
        "rule-call-without-right",
        "A role's rules call a function that the ontology does not let this role call.",
        "functions: [{name: send_notice, roles: [librarian]}]",
        "functions: [{name: send_notice, roles: [librarian, reader]}]",
    ),
    c(
        "rule-unknown-fact",
        "An effect stores or removes a fact that the ontology does not declare in that scope; the change would be refused.",
        "effect(add,session,lone(B)) :- take(B).",
        "effect(add,session,loan(B)) :- take(B).",
    ),
    c(
        "rule-unknown-effect",
        "Effects are add, del and end, in the scopes kb, shared and session.",
        "effect(remove,session,loan(B)) :- done.",
        "effect(del,session,loan(B)) :- done.",
    ),
    c(
        "rule-effect-without-right",
        "A role's rules change a fact that the role has no right to change: the turn would be refused. Session facts need no right.",
        "effect(add,kb,fee(B,C)) :- in(_,tell(B,C)).",
        "may_change: [shared.lent, kb.fee]",
    ),
    c(
        "rule-idle-optimisation",
        "Something is minimised or maximised where no rule leaves a choice: there is one model, so it changes nothing.",
        "#minimize { C,B : fee(B,C) }.",
        "cheapest(C) :- C = #min { F : fee(_,F) }.",
    ),
    c("rule-wrong-sort", "A constant stands where the ontology demands another sort; the condition could never hold.", "kind_of(B,nowel)", "kind_of(B,novel)"),
    c("rule-unknown-name", "A rule speaks of a name that no fact declares.", "lent(\"Moby Duck\")", "lent(\"Moby Dick\")"),
    c(
        "rule-never-matches",
        "The predicate never has this value: following all constants through the rules, nothing brings it about.",
        "act(9,0,bye) :- stage(redy).   % stage is asking or ready",
        "act(9,0,bye) :- stage(ready).",
    ),
    c(
        "rule-never-applies",
        "Two conditions share a variable, but the values they can have differ entirely, so the rule never applies.",
        "p(one). q(two).\na :- p(X), q(X).",
        "p(one). q(one).\na :- p(X), q(X).",
    ),
    c(
        "rule-unused-value",
        "A fact gives a value that no rule ever looks up: a slot or key that is spelled differently elsewhere.",
        "slot(purpose,2). due(purpos,1).",
        "slot(purpose,2). due(purpose,1).",
    ),
    c(
        "rule-two-models",
        "The same facts would admit several decisions: a rule leaves a choice, or two predicates each hold unless the other does. A decision must follow from the facts.",
        "leave :- not stay.\nstay :- not leave.",
        "stay :- open_question.\nleave :- not stay.",
    ),
    c(
        "rule-no-model",
        "A predicate depends on its own absence, so some facts would admit no decision at all.",
        "leave :- done, not leave.",
        "leave :- done, not staying.",
    ),
    c(
        "rule-refused-by-solver",
        "The solver complained about this place while it read the rules with the facts of the knowledge base: an operation on values that have no such operation silently drops the rule's instance.",
        "next(W+1) :- word(W).   % word(\"a\").",
        "next(N+1) :- number(N).",
    ),
    c("fact-unknown-predicate", "The ontology declares no such fact, so nothing would read it.", "boook(\"Emma\").", "book(\"Emma\")."),
    c("fact-wrong-arity", "The ontology declares the fact with another number of arguments.", "fee(\"Odes\",50,cents).", "fee(\"Odes\",50)."),
    c(
        "fact-wrong-scope",
        "A fact file holds the knowledge base; facts of a site or of a conversation come about by turns.",
        "lent(\"Odes\").",
        "% removed: a turn adds it",
    ),
    c(
        "fact-wrong-sort",
        "An argument is not of the declared sort: a constant outside its list, or a name without quotes.",
        "kind_of(\"Emma\",novell).",
        "kind_of(\"Emma\",novel).",
    ),
    c("fact-out-of-bounds", "A number lies outside the bounds of its sort. Money is counted in cents.", "fee(\"Emma\",1000000).", "fee(\"Emma\",100)."),
    c("fact-dangling-name", "The fact speaks of a name that no fact declares: mostly a slip of spelling.", "fee(\"Mobby Dick\",30).", "fee(\"Moby Dick\",30)."),
    c(
        "fact-duplicate",
        "The fact stands in the knowledge base twice. Removing it in one place would not remove it.",
        "fee(\"Odes\",50). fee(\"Odes\",50).",
        "fee(\"Odes\",50).",
    ),
    c(
        "ontology-unknown-fact",
        "A sort takes its names from a fact, or a right speaks of one, that the ontology does not declare.",
        "BOOK: {names: [boks]}",
        "BOOK: {names: [book]}",
    ),
    c("ontology-sort-circle", "A union lists itself, directly or through other unions.", "PLACE: {union: [SHELF, PLACE]}", "PLACE: {union: [SHELF]}"),
    c("ontology-empty-sort", "Nothing can be of this sort.", "CENTS: {int: {min: 10, max: 0}}", "CENTS: {int: {min: 0, max: 10}}"),
    c(
        "ontology-example-refused",
        "The meaning of an example is nothing that its roles may say; it would teach the translators a mistake.",
        "'the atlas => borow(\"World Atlas\")'",
        "'the atlas => borrow(\"World Atlas\")'",
    ),
    c(
        "ontology-example-unheard",
        "The embedded translator does not hear an example of the vocabulary as what it is said to mean: a way to say it is missing in lexicon.yaml, or a name in synonyms.yaml.",
        "examples: ['lend me the atlas => borrow(\"World Atlas\")']\npatterns:\n  reader: [{say: ['{x:BOOK}'], means: 'return($x)'}]",
        "examples: ['lend me the atlas => borrow(\"World Atlas\")']\npatterns:\n  reader: [{say: ['lend me {x:BOOK}'], means: 'borrow($x)'}]",
    ),
    c(
        "ontology-example-elsewhere",
        "An example stands under a form that it does not use.",
        "form: borrow(BOOK)\nexamples: ['where is it => where(\"Odes\")']",
        "form: where(BOOK)\nexamples: ['where is it => where(\"Odes\")']",
    ),
    c(
        "ontology-dangling-name",
        "An example speaks of a name that no fact declares.",
        "'the atlas => borrow(\"World Atlass\")'",
        "'the atlas => borrow(\"World Atlas\")'",
    ),
    c(
        "ontology-unread-input",
        "A role may say this, but none of its rules looks at it: it would be passed over in silence.",
        "- {form: renew(BOOK), roles: [reader], means: keeps it}",
        "%: and in the rules\nact(2,K,confirm(renew,B)) :- in(K,renew(B)), loan(B).",
    ),
    c("ontology-unsaid-action", "No rule of any role brings this action about.", "- {form: wait, means: patience}", "% remove it, or derive act(2,0,wait)"),
    c("ontology-unused-fact", "No rule of any role uses this fact.", "- {form: dusty(BOOK), scope: kb}", "% remove it, or use dusty/1 in a rule"),
    c(
        "R001",
        "No reasoning profile has this name. A profile is a file kb/reason/NAME.yaml with `modules:`.",
        "eval reason profwriter",
        "eval reason proofwriter",
    ),
    c(
        "R002",
        "A reasoning profile says something that no profile says, or in another form (docs/reasoning.md).",
        "semantics: { world: opne }",
        "semantics: { world: open }",
    ),
    c(
        "R003",
        "A reasoning profile names a module or a lexicon that does not exist. Modules are files of rules/reason/, lexicons of kb/reason/.",
        "modules: [tolt]",
        "modules: [\"apply(strict)\", told]",
    ),
    c("R004", "A lexicon of sentence forms cannot be read (docs/reasoning.md).", "forms: [told]", "forms: { told: [\"…\"] }"),
    c("R005", "What the modules of a reasoning profile say for themselves cannot be evaluated.", "n(X+1) :- n(X). n(1).", "n(X+1) :- n(X), X < 9. n(1)."),
];
