/** The style sheet of all pages: light or dark like the visitor's system, from phone to desktop. */
export const style = `:root {
  --ground: #f6f5f2; --surface: #ffffff; --ink: #1d1b19; --muted: #5f5a54; --line: #dedad3;
  --accent: #7a2e3a; --accent-ink: #ffffff; --alert: #9c1c1c; --good: #1d6438; --code: #f0ede8; --chosen: #ebe6de;
  font: 16px/1.55 ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  color: var(--ink); background: var(--ground); accent-color: var(--accent);
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #171614; --surface: #211f1d; --ink: #efebe5; --muted: #aaa39a; --line: #3a3733;
    --accent: #e39aa5; --accent-ink: #2a1216; --alert: #ff9d94; --good: #8fd6a5; --code: #2b2926; --chosen: #302d2a;
  }
}
* { box-sizing: border-box; }
body { margin: 0; }
a { color: var(--accent); text-underline-offset: .15em; }
h1 { font-size: 1.65rem; line-height: 1.2; margin: 0 0 .5rem; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
p { margin: 0 0 .75rem; }
code { font: .9em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
main:focus, [role=status]:focus, [role=alert]:focus { outline: 0; }
.skip { position: absolute; left: .5rem; top: -4rem; background: var(--surface); padding: .5rem 1rem; border-radius: 8px; z-index: 1; }
.skip:focus { top: .5rem; }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

/* Layout */
.bar { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; padding: 1rem clamp(1rem, 4vw, 2.5rem); }
.brand { display: inline-flex; gap: .6rem; align-items: center; font-weight: 650; color: inherit; text-decoration: none; }
.owner { display: flex; gap: .75rem; align-items: center; min-width: 0; }
.who { color: var(--muted); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: min(20rem, 50vw); }
.columns { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; max-width: 68rem; margin: 0 auto; padding: 0 clamp(1rem, 4vw, 2.5rem) 4rem; }
.columns main { min-width: 0; max-width: 46rem; }
.narrow { max-width: 34rem; margin: clamp(1rem, 6vh, 4rem) auto; padding: 0 1rem 4rem; }
.sections ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem; }
.sections a { display: block; padding: .35rem .6rem; font-size: .93rem; border-radius: 9px; color: var(--ink); text-decoration: none; }
.sections a:hover { background: var(--chosen); }
.sections [aria-current] { background: var(--chosen); font-weight: 600; }
@media (min-width: 56rem) {
  .columns { grid-template-columns: 12rem minmax(0, 1fr); gap: 3rem; padding-top: 1.5rem; }
  .sections ul { flex-direction: column; }
  .sections a { padding: .4rem .75rem; font-size: 1rem; }
}
.trail ol { list-style: none; margin: 0 0 .75rem; padding: 0; display: flex; flex-wrap: wrap; font-size: .9rem; color: var(--muted); }
.trail li { overflow-wrap: anywhere; min-width: 0; }
.trail li + li::before { content: "/"; padding: 0 .5rem; }

/* Content */
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 14px; padding: clamp(1.1rem, 4vw, 1.75rem); margin: 0 0 1.25rem; }
.card { overflow-wrap: anywhere; }
.card > :last-child, .card form > :last-child { margin-bottom: 0; }
details.card { padding-block: .75rem; }
details.card[open] { padding-bottom: clamp(1.1rem, 4vw, 1.75rem); }
.fold { margin: 0 0 1.25rem; }
.lead { color: var(--muted); margin: 0 0 1.25rem; }
.fine { color: var(--muted); font-size: .875rem; }
.notes { padding: 1.75rem clamp(1.25rem, 5vw, 2rem); color: var(--muted); }
.notes h2 { color: var(--ink); }
.notes ul { margin: 0 0 .75rem; padding-left: 1.2rem; }
.notice, .error { background: var(--surface); border: 1px solid var(--line); border-left: 4px solid var(--good); border-radius: 9px; padding: .6rem .9rem; margin: 0 0 1.25rem; }
.error { color: var(--alert); border-left-color: var(--alert); }
.facts { display: grid; gap: .2rem; margin: 0 0 .75rem; }
.facts dt { color: var(--muted); font-size: .875rem; }
.facts dd { margin: 0 0 .7rem; overflow-wrap: anywhere; }
.facts dd:last-child { margin-bottom: 0; }
dd code, pre { display: block; background: var(--code); border-radius: 8px; padding: .5rem .7rem; margin: 0 0 .75rem; user-select: all; }
dd code { margin: 0; }
pre { white-space: pre-wrap; color: var(--ink); }
.tiles { list-style: none; margin: 0 0 1.25rem; padding: 0; display: grid; grid-template-columns: repeat(auto-fit, minmax(min(13rem, 100%), 1fr)); gap: 1rem; }
.tile { display: block; height: 100%; background: var(--surface); border: 1px solid var(--line); border-radius: 14px; padding: 1.1rem 1.25rem; color: inherit; text-decoration: none; }
.tile:hover { border-color: var(--accent); }
.tile strong { font-size: 1.65rem; line-height: 1.2; }
.tile small { display: block; color: var(--muted); font-size: .875rem; }
.steps { margin: 0; padding: 0; list-style: none; }
.providers { list-style: none; margin: 0; padding: 0; display: grid; gap: .6rem; }

.stack { display: grid; gap: .6rem; }
h1 + .card { margin-top: 1rem; }
.value + .fine { margin-top: .75rem; }
.other { border-top: 1px solid var(--line); margin-top: 1.25rem; padding-top: 1.25rem; }

/* Rows of a listing */
.rows { list-style: none; margin: 0 0 1.25rem; padding: 0; background: var(--surface); border: 1px solid var(--line); border-radius: 14px; }
.rows > li { padding: .8rem clamp(1rem, 4vw, 1.4rem); }
.rows > li + li { border-top: 1px solid var(--line); }
.row-head { display: flex; flex-wrap: wrap; gap: .1rem .75rem; align-items: baseline; justify-content: space-between; }
.row-head a, .row-head strong { overflow-wrap: anywhere; min-width: 0; }
.row-head a { font-weight: 600; }
.kind { color: var(--muted); font-size: .875rem; }
.preview { color: var(--muted); margin: .1rem 0 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.empty { color: var(--muted); background: var(--surface); border: 1px dashed var(--line); border-radius: 14px; padding: 1.5rem; text-align: center; }
.pager { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; margin: 0 0 1.25rem; color: var(--muted); }

/* A value by its type */
.value { overflow-wrap: anywhere; }
.value-text { white-space: pre-wrap; }
.value-text, .key { unicode-bidi: isolate; }
.value-number, .value-word { font-variant-numeric: tabular-nums; font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .9em; }
.value-word { color: var(--accent); }
.tree, .tree ul { list-style: none; margin: 0; padding: 0; }
.tree ul { margin-left: .3rem; padding-left: .9rem; border-left: 2px solid var(--line); }
.tree li { padding: .1rem 0; }
.key { color: var(--muted); }

/* Forms */
label, legend { display: block; font-weight: 550; margin-bottom: .35rem; padding: 0; overflow-wrap: anywhere; }
fieldset { border: 0; margin: 0 0 1rem; padding: 0; min-width: 0; }
fieldset.group { border-left: 2px solid var(--line); padding-left: .9rem; }
input:not([type=radio], [type=checkbox], [type=hidden]), textarea, select { font: inherit; display: block; width: 100%; color: inherit; background: var(--ground); border: 1px solid var(--muted); border-radius: 9px; padding: .6rem .8rem; margin-bottom: 1rem; }
textarea { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .9em; line-height: 1.5; resize: vertical; min-height: 3.2rem; }
::placeholder { color: var(--muted); opacity: 1; font-style: italic; }
.hint { color: var(--muted); font-size: .875rem; margin: -.7rem 0 1rem; }
.field-error { color: var(--alert); font-weight: 550; font-size: .9rem; margin: -.6rem 0 1rem; overflow-wrap: anywhere; }
[aria-invalid=true] { border-color: var(--alert) !important; border-width: 2px !important; }
.error a { color: inherit; }
.choice { display: flex; gap: .5rem; align-items: baseline; font-weight: 400; margin: 0 0 .3rem; }
.field > .choice { margin-bottom: 1rem; }
button, .button { font: inherit; font-weight: 600; display: inline-block; text-align: center; text-decoration: none; color: var(--accent-ink); background: var(--accent); border: 1px solid transparent; border-radius: 9px; padding: .6rem 1.1rem; cursor: pointer; }
button:hover, .button:hover { filter: brightness(1.08); }
.narrow button, .narrow .button { display: block; width: 100%; padding: .75rem 1rem; }
.quiet { background: transparent; color: var(--ink); border-color: var(--line); padding: .35rem .8rem; font-weight: 500; }
.danger { background: transparent; color: var(--alert); border-color: currentColor; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: 0; }
details > summary { cursor: pointer; color: var(--accent); width: fit-content; padding: .2rem 0; }
details[open] > summary { margin-bottom: .75rem; }
.item { display: grid; gap: .5rem; }
.item-tools { display: flex; flex-wrap: wrap; gap: 0 1.25rem; font-size: .9rem; }
.item-tools details[open] { flex-basis: 100%; }
/* Relations */
h3 { font-size: .95rem; margin: 0 0 .35rem; }
.badge { display: inline-block; font-size: .85rem; font-weight: 600; white-space: nowrap; border: 1px solid var(--line); border-radius: 99px; padding: .05rem .6rem; background: var(--ground); color: var(--ink); }
.badge svg { width: .8em; height: .8em; vertical-align: -.04em; fill: none; stroke: currentColor; stroke-width: 2.5; }
.badge svg .full { fill: currentColor; stroke: none; }
.badge.mutual, .badge.good { border-color: var(--good); color: var(--good); }
.badge.waiting, .badge.bad { border-color: var(--alert); color: var(--alert); }
.urgent { border-left: 4px solid var(--accent); }
.plain, .dense { list-style: none; margin: 0; padding: 0; }
.plain > li + li { border-top: 1px solid var(--line); margin-top: 1rem; padding-top: 1rem; }
.plain > :last-child > :last-child { margin-bottom: 0; }
.plain.short > li { border: 0; margin: 0; padding: .15rem 0; }
.dense { font-size: .9rem; overflow-wrap: anywhere; }
.rows .kind { margin: .1rem 0 0; overflow-wrap: anywhere; }
.lead + .actions { margin: 0 0 1.25rem; }
.stage { padding-bottom: .5rem; }
.picture { display: block; width: 100%; max-width: 27rem; margin: 0 auto; overflow: visible; }
.picture text { font-size: 15px; fill: var(--ink); }
.picture .standing { font-size: 13px; fill: var(--muted); stroke: none; }
.picture .name { font-weight: 600; }
.picture a:hover .name { text-decoration: underline; }
.picture .tie { stroke: var(--muted); stroke-width: 1.5; }
.picture .tie.mutual { stroke: var(--good); stroke-width: 2.5; }
.picture .tie.asked, .picture .tie.waiting { stroke-dasharray: 2 6; stroke-linecap: round; }
.picture .tie.approved-here { stroke-dasharray: 9 5; }
.picture .node { fill: var(--surface); stroke: var(--ink); stroke-width: 2; }
.picture .node.mutual { stroke: var(--good); }
.picture .node.asked { stroke-dasharray: 4 4; }
.picture .node.waiting { fill: var(--accent); stroke: var(--accent); }
.picture .mark { fill: var(--accent-ink); font-weight: 700; }
.picture .core { fill: var(--good); }
.picture .core:not(.mutual) { fill: var(--muted); }
.picture .you { fill: var(--ink); stroke: var(--ink); }
.picture .you-label { fill: var(--surface); font-weight: 700; }
.rights { margin: 0 0 .75rem; }
.rights > div { padding: .35rem 0; }
.rights > div + div { border-top: 1px solid var(--line); }
.rights dt { font-weight: 600; }
.rights dd { margin: 0; overflow-wrap: anywhere; }
.rights .closed { color: var(--muted); }
.warning { border: 1px solid var(--alert); border-radius: 9px; padding: .5rem .8rem; }
.choices { margin-bottom: 1rem; }
.level { border: 1px solid var(--line); border-radius: 10px; padding: .6rem .9rem; margin: 0 0 .6rem; }
.level:has(:checked) { border-color: var(--accent); }
.level > :last-child { margin-bottom: 0; }
.grants { margin: 0 0 .75rem; padding-left: 1.2rem; font-size: .9rem; overflow-wrap: anywhere; }
.grants span { color: var(--muted); }
.level .grants { padding-left: 1.6rem; }
.actions:has(.field) { align-items: end; }
.actions form:has(.field) { flex: 1 1 100%; }
.tall { padding: .15rem 0; }
.tall small { display: block; color: var(--muted); font-size: .875rem; }
.part { border-top: 1px solid var(--line); padding: .4rem 0; }
.part:last-of-type { border-bottom: 1px solid var(--line); margin-bottom: 1rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(14rem, 100%), 1fr)); gap: 0 1rem; margin-bottom: .75rem; }
.line { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; margin-bottom: 1rem; }
.line > div > :last-child { margin-bottom: 0; }
.line > div { flex: 1 1 11rem; min-width: 0; }
.answer { border-left: 4px solid var(--line); padding: .2rem .9rem; }
.answer.yes { border-color: var(--good); }
.answer.no { border-color: var(--alert); }
.answer p:last-child { margin: 0; }
.actions form { margin: 0; }
.button.quiet { color: var(--ink); }
.seen-items { margin: .3rem 0 0; padding-left: 1.4rem; }
.table { overflow-x: auto; background: var(--surface); border: 1px solid var(--line); border-radius: 14px; margin: 0 0 1.25rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .5rem .8rem; white-space: nowrap; }
tbody th, td { border-top: 1px solid var(--line); font-variant-numeric: tabular-nums; }
td.wide { white-space: normal; min-width: 12rem; overflow-wrap: anywhere; }
thead th { color: var(--muted); font-weight: 550; }
h3.app { font-size: 1.1rem; margin: 0; }
.connected { border-top: 1px solid var(--line); margin-top: .8rem; padding-top: .8rem; }
.connected .fold, .answer:last-child { margin-bottom: 0; }
.said { margin: 0; overflow-wrap: anywhere; }
.said .no { color: var(--alert); }
.now { font-weight: 600; color: var(--good); }
.stale { border-left-color: var(--accent); }
.day { color: var(--muted); font-size: .95rem; margin: 1.25rem 0 .5rem; }
@keyframes fresh { from { background: var(--chosen); } }
.fresh { border-radius: 14px; animation: fresh 1.6s ease-out; }
@media (prefers-reduced-motion: reduce) { .fresh { animation: none; } }
@media (forced-colors: active) { button, .button { border-color: ButtonText; } .sections [aria-current] { outline: 2px solid; } }
`
