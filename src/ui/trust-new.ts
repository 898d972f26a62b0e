/** `/<actor>/www/trust/new`: asks another actor for a relationship. */
import { html } from 'hono/html'
import { actorPage, forgeryField } from './layout.ts'
import type { TrustNewValues } from './trust-values.ts'
import type { Html } from './values.ts'

export function trustNewPage(values: TrustNewValues): Html {
  const { actor_www, form_action, trust_types, typed, default_relationship, error } = values
  const chosen = typed.trust_type === '' ? default_relationship : typed.trust_type
  const described = error === null ? '' : html` aria-describedby="error"`
  return actorPage(
    values,
    {
      title: 'Ask for a relationship',
      section: '/trust',
      trail: [{ text: 'Relationships', href: `${actor_www}/trust` }],
    },
    html`
<h1>Ask for a relationship</h1>
<p class="lead">The other side is asked now, and its owner decides. By asking you agree to what the relationship lets the other side do here; you can narrow it afterwards.</p>
<form class="card" method="post" action="${form_action}">${forgeryField(values)}
<label for="peer_url">Address of the other actor</label>
<input id="peer_url" name="peer_url" required inputmode="url" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="2000" placeholder="https://example.com/5f0c…" value="${typed.peer_url}"${described}>
<p class="hint">Its owner finds it on the overview of their own pages.</p>
<fieldset class="choices"><legend>What it is to be</legend>
${trust_types.map(
  ({ name, display_name, description }) =>
    html`<label class="choice tall"><input type="radio" name="trust_type" value="${name}" required${name === chosen ? html` checked` : ''}> <span><strong>${display_name}</strong><small>${description}</small></span></label>`,
)}
</fieldset>
<label for="description">A word to the other side <span class="kind">(optional)</span></label>
<input id="description" name="description" maxlength="2000" value="${typed.description}">
<button type="submit">Ask</button></form>`,
  )
}
