/** View of `/<actor>/www/init`: first steps with a new actor. */
import { html } from 'hono/html'
import { icon } from '../shared/icons.ts'
import { actorPage, type PageContext } from '../shared/layout.ts'
import type { ActorPageValues, Html } from '../shared/values.ts'
import type { DashboardValues } from './values.ts'

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
<li class="card"><h2>${words.connection}</h2><p>${words.connectionText}</p><p><a class="button" href="${actor_www}${context.invitesAt ?? '/trust/new'}">${words.connectionButton}</a></p></li>
<li class="card"><h2>${words.app}</h2><p>${words.appText}</p><p><a class="button" href="${actor_www}/apps">${words.appButton}</a></p></li>
</ol>`,
  )
}

/** The steps on the overview, which ticks those that are done. */
export function checklist(values: DashboardValues, { messages, invitesAt }: PageContext): Html {
  const { firstSteps: words } = messages
  const { actor_www, property_count, list_count, relationship_count, waiting_count, app_count } = values
  const steps = [
    {
      isDone: property_count + list_count > 0,
      title: words.data,
      text: words.dataText,
      link: words.dataButton,
      href: '/properties#new',
    },
    {
      isDone: relationship_count - waiting_count - app_count > 0,
      title: words.connection,
      text: words.connectionText,
      link: words.connectionButton,
      href: invitesAt ?? '/trust/new',
    },
    { isDone: app_count > 0, title: words.app, text: words.appText, link: words.appButton, href: '/apps' },
  ]
  return html`<section class="card wide" aria-labelledby="steps"><h2 id="steps">${words.title}</h2>
<ol class="checklist">${steps.map(
    ({ isDone, title, text, link, href }) =>
      html`<li class="${isDone ? 'done' : 'open'}">${isDone ? html`${icon('check')}<h3>${title}<span class="unseen"> (${words.done})</span></h3>` : html`<h3>${title}</h3><p class="fine">${text}</p><p><a href="${actor_www}${href}">${link}</a></p>`}</li>`,
  )}</ol></section>`
}
