/** View of `/<actor>/www/trust/<peerid>/view`: the actor as a peer sees it. */
import { html } from 'hono/html'
import { pager } from '../shared/forms.ts'
import { actorPage, following, type Navigation } from '../shared/layout.ts'
import { both } from '../shared/rights.ts'
import type { SeenOperation, SeenProperty, TrustViewValues } from './values.ts'
import { valueView } from '../shared/value-view.ts'
import type { Html } from '../shared/values.ts'
import { count } from '../shared/plural.ts'

export function trustViewPage(values: TrustViewValues, navigation: Navigation): Html {
  const { trust, actor_www, properties, parts, paging, methods, actions, tools } = values
  const { name, href } = trust.peer
  return actorPage(
    values,
    {
      title: `As ${name} sees you`,
      section: '/trust',
      navigation,
      trail: [
        { text: 'Relationships', href: `${actor_www}/trust` },
        { text: name, href },
      ],
    },
    following(
      'view',
      ['trust', 'properties'],
      html`
<h1>As ${name} sees you</h1>
<p class="lead">${
        trust.approved
          ? 'These are the properties that it is given when it asks, value by value, and what it may call. Other properties do not exist for it.'
          : 'Nothing: the relationship is not approved.'
      }</p>
<h2>${paging.total === 0 ? 'No properties' : count(paging.total, 'property', 'properties')}</h2>
${properties.length === 0 ? html`<p class="empty">It sees none as a whole.</p>` : html`<ul class="rows">${properties.map(seenRow)}</ul>`}
${pager(paging, 'Parts of what it sees', `${href}/view`)}
${parts.length === 0 ? '' : html`<h2>Only parts of these</h2><ul class="rows">${parts.map(seenRow)}</ul>`}
${operations('Methods', 'It may call none.', methods)}
${operations('Actions', 'It may run none.', actions)}
${tools === null ? '' : operations('Tools', 'It is offered none.', tools)}`,
    ),
  )
}

export function seenRow({ name, kind, tree, items, more, may }: SeenProperty): Html {
  const besides = may.filter((verb) => verb !== 'read')
  return html`<li><div class="row-head"><strong>${name}</strong><span class="kind">${kind}${besides.length === 0 ? '' : ` · may ${both(besides)} it`}</span></div>
${tree === null ? '' : valueView(tree)}${
  items.length === 0 ? '' : html`<ol class="seen-items">${items.map((item) => html`<li>${valueView(item)}</li>`)}</ol>`
}${more === 0 ? '' : html`<p class="fine">and ${count(more, 'more item')}</p>`}</li>
`
}

function operations(title: string, none: string, all: readonly SeenOperation[]): Html {
  return html`<h2>${title}</h2>
${
  all.length === 0
    ? html`<p class="empty">${none}</p>`
    : html`<ul class="rows">${all.map(
        ({ name, description, confirm }) =>
          html`<li><div class="row-head"><strong>${name}</strong>${
            confirm === 'owner' ? html`<span class="kind">asks you before each call</span>` : ''
          }</div>${description === '' ? '' : html`<p class="kind">${description}</p>`}</li>`,
      )}</ul>`
}`
}
