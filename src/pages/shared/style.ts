/** The style sheet of all pages: light or dark like the visitor's system, from phone to desktop, in both directions. */
export const style = `:root {
  color-scheme: light dark;
  --ground: light-dark(#f7f5f2, #141312);
  --surface: light-dark(#fff, #1e1c1b);
  --sunken: light-dark(#f1eee9, #272523);
  --ink: light-dark(#1d1b19, #f0ece6);
  --muted: light-dark(#615b54, #aba49b);
  --line: light-dark(#e3ded7, #35322f);
  --edge: light-dark(#8d847a, #8a8278);
  --accent: light-dark(#7a2e3a, #e8a3ad);
  --accent-ink: light-dark(#fff, #2a1216);
  --accent-soft: light-dark(#f5e8ea, #3a2528);
  --good: light-dark(#1b6338, #8fd6a5);
  --good-soft: light-dark(#e5f2e9, #1b2f22);
  --warn: light-dark(#874a00, #f0bd74);
  --warn-soft: light-dark(#fcf0dd, #33270f);
  --danger: light-dark(#a11d1d, #ff9d94);
  --danger-soft: light-dark(#fbeae8, #3a1f1d);
  --info: light-dark(#1d5590, #9cc4f0);
  --info-soft: light-dark(#e7eff8, #1b2a3a);
  --shade: light-dark(#1d1b1910, #0000);
  --shadow: 0 1px 2px var(--shade), 0 4px 16px -8px var(--shade);
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  font: 15px/1.5 ui-sans-serif, system-ui, sans-serif;
  color: var(--ink); background: var(--ground); accent-color: var(--accent);
  scroll-padding-top: 7rem;
}
[data-theme=light] { color-scheme: light; }
[data-theme=dark] { color-scheme: dark; }
* { box-sizing: border-box; }
body { margin: 0; }
a { color: inherit; text-underline-offset: .15em; }
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 .5rem; letter-spacing: -.015em; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h3 { font-size: .95rem; margin: 0 0 .35rem; }
p { margin: 0 0 .75rem; }
code { font: .87em/1.5 var(--mono); overflow-wrap: anywhere; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
main:focus, [role=status]:focus, [role=alert]:focus { outline: 0; }
.skip { position: absolute; inset-inline-start: .5rem; top: -4rem; background: var(--surface); padding: .5rem 1rem; border-radius: 8px; z-index: 3; }
.skip:focus { top: .5rem; }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.icon { width: 1rem; height: 1rem; flex: none; fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round; vertical-align: -.15em; }
.avatar { width: 2rem; height: 2rem; flex: none; }
.avatar text { font-size: 15px; font-weight: 600; text-anchor: middle; fill: #fff; }

/* Shell: a bar at the side, or at the top of a narrow window */
.bar { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; padding: 1rem clamp(1rem, 4vw, 2.5rem); }
.brand { display: inline-flex; gap: .6rem; align-items: center; font-weight: 650; text-decoration: none; min-width: 0; overflow-wrap: anywhere; }
.side { background: var(--surface); border-bottom: 1px solid var(--line); padding: .6rem 1rem 0; display: flex; flex-wrap: wrap; gap: .1rem 1rem; align-items: center; justify-content: space-between; position: sticky; top: 0; z-index: 2; }
.owner, .person { display: flex; gap: .5rem; align-items: center; min-width: 0; }
.owner .avatar { width: 1.75rem; height: 1.75rem; }
.who { color: var(--muted); font-size: .87rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; flex: 1; max-width: 40vw; }
.owner .icon { display: block; }
.owner form { margin: 0; }
.sections { order: 1; flex: 1 0 100%; min-width: 0; overflow-x: auto; margin: 0 -1rem; padding: 0 1rem; scrollbar-width: none; }
.sections ul { list-style: none; margin: 0; padding: 0; display: flex; gap: .25rem; }
.sections a { display: flex; gap: .55rem; align-items: center; min-height: 2.75rem; padding: 0 .7rem; color: var(--muted); font-weight: 500; text-decoration: none; white-space: nowrap; border-bottom: 2px solid transparent; }
.sections a:hover { color: var(--ink); }
.sections [aria-current] { color: var(--accent); font-weight: 600; border-bottom-color: currentColor; }
#navigation { display: contents; }
.count { margin-inline-start: auto; min-width: 1.4rem; padding: 0 .4rem; border-radius: 99px; background: var(--accent); color: var(--accent-ink); font-size: .8rem; font-weight: 600; line-height: 1.4rem; text-align: center; font-variant-numeric: tabular-nums; }
.count.bad { background: var(--danger-soft); color: var(--danger); }
.shell main { padding: 1.25rem clamp(1rem, 3vw, 2.5rem) 4rem; max-width: 62rem; min-width: 0; }
.narrow { max-width: 32rem; margin: clamp(1rem, 6vh, 4rem) auto; padding: 0 1rem 4rem; }
@media (min-width: 56rem) {
  :root { scroll-padding-top: 1rem; }
  .shell { display: grid; grid-template-columns: 15rem minmax(0, 1fr); min-height: 100vh; }
  .side { border-bottom: 0; border-inline-end: 1px solid var(--line); padding: 1rem .75rem; flex-direction: column; flex-wrap: nowrap; align-items: stretch; justify-content: flex-start; gap: 1rem; height: 100vh; overflow-y: auto; }
  .brand { padding: 0 .5rem; }
  .sections { order: 0; flex: none; overflow: visible; margin: 0; padding: 0; }
  .sections ul { flex-direction: column; gap: .1rem; }
  .sections a { min-height: 2.25rem; padding: 0 .6rem; border: 0; border-radius: 6px; }
  .sections a:hover { background: var(--sunken); }
  .sections [aria-current] { background: var(--accent-soft); }
  .side .owner { margin-top: auto; border-top: 1px solid var(--line); padding: .75rem .5rem 0; }
  .who { max-width: none; }
  .shell main { padding-top: 1.75rem; }
}
.trail ol { list-style: none; margin: 0 0 .5rem; padding: 0; display: flex; flex-wrap: wrap; font-size: .87rem; color: var(--muted); }
.trail li { overflow-wrap: anywhere; min-width: 0; }
.trail li + li::before { content: "/"; padding: 0 .5rem; }

/* Content */
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; box-shadow: var(--shadow); padding: 1rem clamp(1rem, 3vw, 1.25rem); margin: 0 0 1rem; }
.card { overflow-wrap: anywhere; }
.card > :last-child, .card form > :last-child { margin-bottom: 0; }
details.card { padding-block: .75rem; }
details.card[open] { padding-bottom: 1.1rem; }
.fold { margin: 0 0 1rem; }
.opens { margin: 0 0 1rem; }
@supports not selector(:popover-open) { .opens { display: none; } }
.confirm { max-width: min(26rem, 100vw - 2rem); margin: auto; color: var(--ink); }
.confirm::backdrop { background: rgb(0 0 0 / .4); }
.confirm .opens { margin: 0; }
@supports selector(::details-content) { .confirm > summary { display: none; } .confirm::details-content { content-visibility: visible; } }
.lead { color: var(--muted); margin: 0 0 1.25rem; }
.fine, .kind, .hint, .facts dt, .tile small, .tall small { color: var(--muted); font-size: .875rem; }
.notes { padding: 1.5rem clamp(1.1rem, 4vw, 1.5rem); color: var(--muted); }
.notes h2 { color: var(--ink); }
.notes ul { margin: 0 0 .75rem; padding-inline-start: 1.2rem; }
.notice, .error { background: var(--good-soft); border: 1px solid var(--good); border-radius: 8px; padding: .6rem .9rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
.undoable { display: flex; gap: .75rem; align-items: start; }
.undoable .notice { flex: 1; }
.error { color: var(--danger); background: var(--danger-soft); border-color: var(--danger); }
.facts { display: grid; gap: .2rem; margin: 0 0 .75rem; }
.facts dd { margin: 0 0 .7rem; overflow-wrap: anywhere; }
.facts dd:last-child { margin-bottom: 0; }
dd code, pre { display: block; background: var(--sunken); border-radius: 8px; padding: .5rem .7rem; margin: 0 0 .75rem; user-select: all; }
dd code { margin: 0; }
pre { white-space: pre-wrap; color: var(--ink); }
.tiles { list-style: none; margin: 0 0 1.25rem; padding: 0; display: grid; grid-template-columns: repeat(auto-fit, minmax(min(13rem, 100%), 1fr)); gap: 1rem; }
.tile { display: block; height: 100%; background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: .8rem 1rem; box-shadow: var(--shadow); color: inherit; text-decoration: none; }
.tile:hover { border-color: var(--edge); }
.tile strong, .tile small, .tall small { display: block; }
.tile strong { font-size: 1.5rem; line-height: 1.3; }
.tile span { color: var(--muted); }

/* Overview */
.head { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; margin-bottom: 1rem; }
.head :is(h1, h2) { margin: 0; }
.shell main:has(.grid) { max-width: 78rem; }
.grid { display: grid; grid-template-columns: repeat(12, minmax(0, 1fr)); gap: 1rem; margin-bottom: 1.25rem; }
.grid > * { grid-column: 1 / -1; margin: 0; }
.grid > .slim > :last-child { margin: 0; }
.grid .tiles { grid-template-columns: repeat(auto-fit, minmax(min(8rem, 100%), 1fr)); }
.card-head { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: center; justify-content: space-between; margin-bottom: .6rem; }
.card-head h2 { margin: 0; flex: 1; }
.grid .facts { grid-template-columns: minmax(0, 1fr); }
.copy { display: flex; gap: .5rem; align-items: center; }
.copy code { direction: ltr; flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
html:not(.copies) .copy code { white-space: normal; }
html:not(.copies) [data-copy] { display: none; }
@media (min-width: 72rem) {
  .grid > .wide { grid-column: span 8; }
  .grid > .slim { grid-column: span 4; }
}
.steps { margin: 0; padding: 0; list-style: none; }
.providers { list-style: none; margin: 0; padding: 0; display: grid; gap: .6rem; }

.stack { display: grid; gap: .6rem; }
h1 + .card { margin-top: 1rem; }
.value + .fine { margin-top: .75rem; }
.other { border-top: 1px solid var(--line); margin-top: 1.25rem; padding-top: 1.25rem; }

/* Rows of a listing */
.rows { list-style: none; margin: 0 0 1.25rem; padding: 0; background: var(--surface); border: 1px solid var(--line); border-radius: 10px; }
.rows > li { padding: .7rem clamp(.9rem, 3vw, 1.25rem); }
.rows > li:hover { background: var(--sunken); }
.rows > li:first-child { border-radius: 10px 10px 0 0; }
.rows > li:last-child { border-radius: 0 0 10px 10px; }
.rows > li + li { border-top: 1px solid var(--line); }
.row-head { display: flex; flex-wrap: wrap; gap: .1rem .75rem; align-items: baseline; justify-content: space-between; }
.row-head a, .row-head strong { overflow-wrap: anywhere; min-width: 0; }
.row-head a { font-weight: 600; }
.preview { color: var(--muted); margin: .1rem 0 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.empty { color: var(--muted); background: var(--surface); border: 1px dashed var(--line); border-radius: 10px; padding: 1.5rem; text-align: center; }
.pager { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; margin: 0 0 1.25rem; color: var(--muted); }
.numbers { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem; font-variant-numeric: tabular-nums; }
.numbers > li > a, .numbers > [aria-current] { display: block; min-width: 2rem; padding: .2rem .4rem; border-radius: 6px; text-align: center; }
.numbers > [aria-current] { color: var(--accent); background: var(--accent-soft); font-weight: 600; }

/* A value by its type */
.value { overflow-wrap: anywhere; }
.value-text { white-space: pre-wrap; }
.value-text, .key { unicode-bidi: isolate; }
.value-number, .value-word { font-variant-numeric: tabular-nums; font-family: var(--mono); font-size: .9em; }
.value-word { color: var(--info); }
.tree, .tree ul { list-style: none; margin: 0; padding: 0; }
.tree ul { margin-inline-start: .3rem; padding-inline-start: .9rem; border-inline-start: 2px solid var(--line); }
.tree li { padding: .1rem 0; }
.key { color: var(--muted); }

/* Forms */
label, legend { display: block; font-weight: 550; margin-bottom: .35rem; padding: 0; overflow-wrap: anywhere; }
fieldset { border: 0; margin: 0 0 1rem; padding: 0; min-width: 0; }
fieldset.group { border-inline-start: 2px solid var(--line); padding-inline-start: .9rem; }
input:not([type=radio], [type=checkbox], [type=hidden]), textarea, select { font: inherit; display: block; width: 100%; color: inherit; background: var(--surface); border: 1px solid var(--edge); border-radius: 6px; padding: .45rem .65rem; min-height: 2.4rem; margin-bottom: 1rem; }
textarea { font-family: var(--mono); font-size: .9em; line-height: 1.5; resize: vertical; min-height: 3.2rem; }
::placeholder { color: var(--muted); opacity: 1; font-style: italic; }
.hint { margin: -.7rem 0 1rem; }
.field-error { color: var(--danger); font-weight: 550; font-size: .9rem; margin: -.6rem 0 1rem; overflow-wrap: anywhere; }
.field-error:empty { margin: 0; }
[aria-invalid=true] { border-color: var(--danger) !important; border-width: 2px !important; }
.choice { display: flex; gap: .5rem; align-items: baseline; font-weight: 400; margin: 0 0 .3rem; }
.field > .choice { margin-bottom: 1rem; }
button, .button { font: inherit; font-weight: 600; display: inline-block; text-align: center; text-decoration: none; color: var(--accent-ink); background: var(--accent); border: 1px solid transparent; border-radius: 6px; padding: .4rem .9rem; min-height: 2.4rem; cursor: pointer; }
button:hover, .button:hover { filter: brightness(1.08); }
.narrow button, .narrow .button { display: block; width: 100%; padding: .6rem 1rem; min-height: 2.75rem; }
.quiet { background: var(--surface); color: var(--ink); border-color: var(--edge); padding: .25rem .75rem; min-height: 2.1rem; }
.danger { background: none; color: var(--danger); border-color: currentColor; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: 0; }
details > summary { cursor: pointer; width: fit-content; padding: .2rem 0; text-decoration: underline var(--edge); text-underline-offset: .2em; }
details[open] > summary { margin-bottom: .75rem; }
.item { display: grid; gap: .5rem; }
.item-tools { font-size: .9rem; }
.item-tools a { display: inline-block; padding: .2rem 0; margin-inline-end: 1rem; }
/* Relations */

.badge { display: inline-block; font-size: .8rem; font-weight: 600; white-space: nowrap; border-radius: 99px; padding: .1rem .6rem; background: var(--sunken); color: var(--muted); }
.badge svg { width: .8em; height: .8em; vertical-align: -.04em; fill: none; stroke: currentColor; stroke-width: 2.5; }
.badge svg .full { fill: currentColor; stroke: none; }
.badge.mutual, .badge.good { background: var(--good-soft); color: var(--good); }
.badge.waiting, .badge.warn { background: var(--warn-soft); color: var(--warn); }
.badge.bad { background: var(--danger-soft); color: var(--danger); }
.badge.approved-here { background: var(--info-soft); color: var(--info); }
.urgent { border-color: var(--warn); border-inline-start-width: 4px; }
.plain, .dense { list-style: none; margin: 0; padding: 0; }
.plain > li + li { border-top: 1px solid var(--line); margin-top: 1rem; padding-top: 1rem; }
.plain > :last-child > :last-child { margin-bottom: 0; }
.plain.short > li { border: 0; margin: 0; padding: .15rem 0; }
.dense { font-size: .9rem; overflow-wrap: anywhere; }
.rows .kind { margin: .1rem 0 0; overflow-wrap: anywhere; }
.lead + .actions { margin: 0 0 1.25rem; }
.rights { margin: 0 0 .75rem; }
.rights > div { padding: .35rem 0; }
.rights > div + div { border-top: 1px solid var(--line); }
.rights dt { font-weight: 600; }
.rights dd { margin: 0; overflow-wrap: anywhere; }
.rights .closed { color: var(--muted); }
.warning { background: var(--warn-soft); border: 1px solid var(--warn); border-radius: 8px; padding: .5rem .8rem; }
.choices { margin-bottom: 1rem; }
.level { border: 1px solid var(--line); border-radius: 10px; padding: .6rem .9rem; margin: 0 0 .6rem; }
.level:has(:checked) { border-color: var(--accent); }
.level > :last-child { margin-bottom: 0; }
.grants { margin: 0 0 .75rem; padding-inline-start: 1.2rem; font-size: .9rem; overflow-wrap: anywhere; }
.grants span { color: var(--muted); }
.level .grants { padding-inline-start: 1.6rem; }
.actions:has(.field) { align-items: end; }
.actions form:has(.field) { flex: 1 1 100%; }
.tall { padding: .15rem 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(14rem, 100%), 1fr)); gap: 0 1rem; margin-bottom: .75rem; }
.line { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; margin-bottom: 1rem; }
.line > div > :last-child { margin-bottom: 0; }
.line > div { flex: 1 1 11rem; min-width: 0; }
/* Activity */
.filter { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(11rem, 100%), 1fr)); gap: 0 1rem; align-items: end; }
.filter > .actions { padding-bottom: 1.15rem; }
.answer { border-inline-start: 4px solid var(--line); padding: .2rem .9rem; }
.answer p:last-child { margin: 0; }
.actions form { margin: 0; }
.button.quiet { color: var(--ink); }
.seen-items { margin: .3rem 0 0; padding-inline-start: 1.4rem; }
.table { position: relative; overflow-x: auto; background: var(--surface); border: 1px solid var(--line); border-radius: 10px; margin: 0 0 1.25rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: start; vertical-align: top; padding: .5rem .8rem; white-space: nowrap; }
tbody th, td { border-top: 1px solid var(--line); font-variant-numeric: tabular-nums; }
td.wide { white-space: normal; min-width: 12rem; overflow-wrap: anywhere; }
thead th { color: var(--muted); background: var(--sunken); font-size: .8rem; font-weight: 600; }
h3.app { font-size: 1.1rem; margin: 0; }
.connected { border-top: 1px solid var(--line); margin-top: .8rem; padding-top: .8rem; }
.connected .fold, .answer:last-child { margin-bottom: 0; }
.said { margin: 0; overflow-wrap: anywhere; }
.said .no { color: var(--danger); }
.now { font-weight: 600; color: var(--good); }
.stale { background: var(--info-soft); border-color: var(--info); }
.day { color: var(--muted); font-size: .95rem; margin: 1.25rem 0 .5rem; }
@keyframes fresh { from { background: var(--sunken); } }
.fresh { border-radius: 10px; animation: fresh 1.6s ease-out; }
@media (prefers-reduced-motion: reduce) { .fresh { animation: none; } }
@media (forced-colors: active) { button, .button { border-color: ButtonText; } .sections [aria-current] { outline: 2px solid; } .badge, .count { border: 1px solid; } }
`
