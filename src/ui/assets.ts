/** The style sheet and the mark, as texts, so that a build needs to copy nothing. */
export interface Asset {
  readonly type: string
  readonly text: string
}

const style = `:root {
  --ground: #f6f5f2; --surface: #ffffff; --ink: #1d1b19; --muted: #5f5a54; --line: #dedad3;
  --accent: #7a2e3a; --accent-ink: #ffffff; --alert: #9c1c1c; --code: #f0ede8;
  font: 16px/1.55 ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  color: var(--ink); background: var(--ground);
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #171614; --surface: #211f1d; --ink: #efebe5; --muted: #aaa39a; --line: #3a3733;
    --accent: #e39aa5; --accent-ink: #2a1216; --alert: #ff9d94; --code: #2b2926;
  }
}
* { box-sizing: border-box; }
body { margin: 0; }
.bar { display: flex; align-items: center; padding: 1rem clamp(1rem, 5vw, 3rem); }
.brand { display: inline-flex; gap: .6rem; align-items: center; font-weight: 650; color: inherit; text-decoration: none; }
main { max-width: 34rem; margin: clamp(1rem, 6vh, 4rem) auto; padding: 0 1rem 4rem; }
h1 { font-size: 1.65rem; line-height: 1.2; margin: 0 0 .5rem; letter-spacing: -.01em; }
h2 { font-size: 1rem; margin: 0 0 .5rem; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 14px; padding: clamp(1.25rem, 5vw, 2rem); }
.lead { color: var(--muted); margin: 0 0 1.25rem; }
.notes { padding: 1.75rem clamp(1.25rem, 5vw, 2rem); color: var(--muted); }
.notes h2 { color: var(--ink); }
.notes p, .notes ul { margin: 0 0 .75rem; }
.notes ul { padding-left: 1.2rem; }
label { display: block; font-weight: 550; margin-bottom: .35rem; }
input { font: inherit; width: 100%; color: inherit; background: var(--ground); border: 1px solid var(--muted); border-radius: 9px; padding: .7rem .8rem; margin-bottom: 1rem; }
::placeholder { color: var(--muted); opacity: 1; font-style: italic; }
button, .button { font: inherit; font-weight: 600; display: block; width: 100%; text-align: center; text-decoration: none; color: var(--accent-ink); background: var(--accent); border: 0; border-radius: 9px; padding: .75rem 1rem; cursor: pointer; }
button:hover, .button:hover { filter: brightness(1.08); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.providers { list-style: none; margin: 0; padding: 0; display: grid; gap: .6rem; }
.notes a { color: var(--accent); }
.error { color: var(--alert); border-left: 3px solid var(--alert); padding: .25rem .75rem; margin: 0 0 1rem; }
.facts { display: grid; gap: .2rem; margin: 0; }
.facts dt { color: var(--muted); font-size: .875rem; }
.facts dd { margin: 0 0 .7rem; }
code { font: .9em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
dd code, pre { display: block; background: var(--code); border-radius: 8px; padding: .5rem .7rem; margin: 0 0 .75rem; user-select: all; }
dd code { margin: 0; }
pre { white-space: pre-wrap; color: var(--ink); }
`

const mark = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#7a2e3a"/><g fill="#fff"><circle cx="16" cy="10" r="3.6"/><circle cx="8.5" cy="20.5" r="3.6"/><circle cx="23.5" cy="20.5" r="3.6"/></g><path d="M14.3 13.2 10.3 17.4M17.7 13.2l4 4.2M12.4 20.7h7.2" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/></svg>
`

export const assets: ReadonlyMap<string, Asset> = new Map([
  ['troupe.css', { type: 'text/css; charset=utf-8', text: style }],
  ['troupe.svg', { type: 'image/svg+xml', text: mark }],
])
