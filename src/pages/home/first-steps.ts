/** View of `/<actor>/www/init`: first steps with a new actor. */
import { html } from 'hono/html'
import { actorPage, type Navigation } from '../shared/layout.ts'
import type { ActorPageValues, Html } from '../shared/values.ts'

export function initPage(values: ActorPageValues, navigation: Navigation): Html {
  const { actor_www } = values
  return actorPage(
    values,
    { title: 'First steps', section: '', navigation, trail: [{ text: 'Overview', href: actor_www }] },
    html`
<h1>First steps</h1>
<ol class="steps">
<li class="card"><h2>Put something in</h2><p>A property is a named value: a text, a number, something with parts, or a list.</p><p><a class="button" href="${actor_www}/properties">To the properties</a></p></li>
<li class="card"><h2>Get to know somebody</h2><p>A relationship connects you with another actor. You decide what it may see and do, and can take it back at any time.</p><p><a class="button" href="${actor_www}/trust/new">Ask for a relationship</a></p></li>
<li class="card"><h2>Let programs in</h2><p>Phones, scripts and AI assistants reach your actor through one set of rules. Everything that was connected is listed, and ends with one click.</p><p><a class="button" href="${actor_www}/apps">To the connected apps</a></p></li>
</ol>`,
  )
}
