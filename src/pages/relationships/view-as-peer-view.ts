/** View of `/<actor>/www/trust/<peerid>/view`: the actor as a peer sees it. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { pager } from '../shared/forms.ts'
import { actorPage, following, type PageContext } from '../shared/layout.ts'
import type { SeenOperation, SeenProperty, TrustViewValues } from './values.ts'
import { valueView } from '../shared/value-view.ts'
import type { Html } from '../shared/values.ts'
import { visible } from '../shared/visible.ts'

export function trustViewPage(values: TrustViewValues, context: PageContext): Html {
  const { messages } = context
  const words = messages.viewAs
  const { trust, actor_www, properties, parts, paging, methods, actions, tools } = values
  const { name, href } = trust.peer
  return actorPage(
    values,
    {
      ...context,
      title: words.title(name),
      section: '/trust',
      trail: [
        { text: messages.connections.title, href: `${actor_www}/trust` },
        { text: name, href },
      ],
    },
    following(
      'view',
      ['trust', 'properties'],
      html`
<h1>${words.title(name)}</h1>
<p class="lead">${trust.approved ? words.text(name) : words.notApproved(name)}</p>
<h2>${words.properties(paging.total)}</h2>
${properties.length === 0 ? html`<p class="empty">${words.none}</p>` : html`<ul class="rows">${properties.map((each) => seenRow(each, messages))}</ul>`}
${pager(paging, `${href}/view`, messages)}
${parts.length === 0 ? '' : html`<h2>${words.parts}</h2><ul class="rows">${parts.map((each) => seenRow(each, messages))}</ul>`}
${operations({ title: words.methods, none: words.noMethods }, methods, words)}
${operations({ title: words.actions, none: words.noActions }, actions, words)}
${tools === null ? '' : operations({ title: words.tools, none: words.noTools }, tools, words)}`,
    ),
  )
}

export function seenRow({ name, kind, tree, items, more, may }: SeenProperty, messages: Messages): Html {
  const { viewAs, values, verbs } = messages
  const besides = may.filter((verb) => verb !== verbs.read)
  return html`<li><div class="row-head"><strong>${visible(name)}</strong><span class="kind">${besides.length === 0 ? kind : viewAs.kindAnd(kind, besides)}</span></div>
${tree === null ? '' : valueView(tree, messages)}${
  items.length === 0
    ? ''
    : html`<ol class="seen-items">${items.map((item) => html`<li>${valueView(item, messages)}</li>`)}</ol>`
}${more === 0 ? '' : html`<p class="fine">${values.moreItems(more)}</p>`}</li>
`
}

function operations(
  { title, none }: { readonly title: string; readonly none: string },
  all: readonly SeenOperation[],
  words: Messages['viewAs'],
): Html {
  return html`<h2>${title}</h2>
${
  all.length === 0
    ? html`<p class="empty">${none}</p>`
    : html`<ul class="rows">${all.map(
        ({ name, description, confirm }) =>
          html`<li><div class="row-head"><strong>${name}</strong>${
            confirm === 'owner' ? html`<span class="kind">${words.asksFirst}</span>` : ''
          }</div>${description === '' ? '' : html`<p class="kind">${description}</p>`}</li>`,
      )}</ul>`
}`
}
