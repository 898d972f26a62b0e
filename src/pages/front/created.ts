/** The page after the form created an actor. It is the only page that ever shows the passphrase. */
import { html } from 'hono/html'
import { page } from '../shared/layout.ts'
import type { CreatedValues, Html } from '../shared/values.ts'

export function createdPage(values: CreatedValues): Html {
  return page(
    { ...values, title: 'Your actor is ready' },
    html`
<section class="card">
<h1>Your actor is ready</h1>
<p class="lead">Keep these three in a safe place: this page appears only once. The passphrase is your key, and any program that has it can act as you here.</p>
<dl class="facts">
<dt>Address</dt><dd><code>${values.url}</code></dd>
<dt>Creator</dt><dd><code>${values.creator}</code></dd>
<dt>Passphrase</dt><dd><code>${values.passphrase}</code></dd>
</dl>
</section>
<section class="notes">
<h2>Try it</h2>
<p>This reads everything your actor holds.</p>
<pre><code>curl -u ${shellWord(`${values.creator}:${values.passphrase}`)} \\
${values.url}/properties</code></pre>
</section>`,
  )
}

/** Quotes a string as one word of a POSIX shell, because an address may contain an apostrophe. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
