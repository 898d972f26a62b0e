/** Shown once after an actor was made through the form: the only time the passphrase is on a page. */
import { html } from 'hono/html'
import { page } from './layout.ts'
import type { CreatedValues, Html } from './values.ts'

export function createdPage(values: CreatedValues): Html {
  return page(
    { ...values, title: 'Your actor is ready' },
    html`
<section class="card">
<h1>Your actor is ready</h1>
<p class="lead">Keep these three. The passphrase is your key: with it, any program can act as you here.</p>
<dl class="facts">
<dt>Address</dt><dd><code>${values.url}</code></dd>
<dt>Creator</dt><dd><code>${values.creator}</code></dd>
<dt>Passphrase</dt><dd><code>${values.passphrase}</code></dd>
</dl>
</section>
<section class="notes">
<h2>Try it</h2>
<pre><code>curl -u '${values.creator}:${values.passphrase}' ${values.url}/properties</code></pre>
</section>`,
  )
}
