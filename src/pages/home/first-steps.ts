/** View of `/<actor>/www/init`: first steps with a new actor. */
import { html } from 'hono/html'
import { actorPage, type PageContext } from '../shared/layout.ts'
import type { ActorPageValues, Html } from '../shared/values.ts'

export function initPage(values: ActorPageValues, context: PageContext): Html {
  const { actor_www } = values
  const { firstSteps: words, navigation } = context.messages
  return actorPage(
    values,
    { ...context, title: words.title, section: '', trail: [{ text: navigation.overview, href: actor_www }] },
    html`
<h1>${words.title}</h1>
<ol class="steps">
<li class="card"><h2>${words.data}</h2><p>${words.dataText}</p><p><a class="button" href="${actor_www}/properties">${words.dataButton}</a></p></li>
<li class="card"><h2>${words.connection}</h2><p>${words.connectionText}</p><p><a class="button" href="${actor_www}/trust/new">${words.connectionButton}</a></p></li>
<li class="card"><h2>${words.app}</h2><p>${words.appText}</p><p><a class="button" href="${actor_www}/apps">${words.appButton}</a></p></li>
</ol>`,
  )
}
