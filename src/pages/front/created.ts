/** The page after the form created an actor. It is the only page that ever shows the passphrase. */
import { html } from 'hono/html'
import { page, type PageContext } from '../shared/layout.ts'
import type { CreatedValues, Html } from '../shared/values.ts'
import { visible } from '../shared/visible.ts'

export function createdPage(values: CreatedValues, { messages }: PageContext): Html {
  const { created: words } = messages
  return page(
    { ...values, title: words.title, messages },
    html`
<section class="card">
<h1>${words.title}</h1>
<p class="lead">${words.keep}</p>
<dl class="facts">
<dt>${words.address}</dt><dd><code>${values.url}</code></dd>
<dt>${words.owner}</dt><dd><code>${visible(values.creator)}</code></dd>
<dt>${words.passphrase}</dt><dd><code>${values.passphrase}</code></dd>
</dl>
</section>
<section class="notes">
<h2>${words.tryIt}</h2>
<p>${words.tryText}</p>
<pre><code>curl -u ${shellWord(`${values.creator}:${values.passphrase}`)} \\
${values.url}/properties</code></pre>
</section>`,
  )
}

/** Quotes a string as one word of a POSIX shell, because an address may contain an apostrophe. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
