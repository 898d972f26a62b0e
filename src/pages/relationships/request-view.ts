/** View of `/<actor>/www/trust/new`: the form that requests a relationship. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { levelChoice, reviewView } from './access-review-view.ts'
import { formField, verbatim } from '../shared/form-field.ts'
import { hiddenFields, signInAgain } from '../shared/forms.ts'
import { actorPage, forgeryField, type PageContext } from '../shared/layout.ts'
import type { AccessReview, TrustNewValues } from './values.ts'
import type { Html } from '../shared/values.ts'

export function trustNewPage(values: TrustNewValues, context: PageContext): Html {
  const { actor_www, error_field, review } = values
  const { messages } = context
  return actorPage(
    values,
    {
      ...context,
      title: messages.request.title,
      section: '/trust',
      trail: [{ text: messages.connections.title, href: `${actor_www}/trust` }],
      isAnswer: review !== null,
      wrongField: error_field !== null && Object.hasOwn(ids, error_field) ? error_field : null,
    },
    review === null ? request(values, messages) : reviewed(values, review, messages),
  )
}

/** Fields of the form; the id of each field is its name. */
const ids = { peer_url: true, trust_type: true, description: true }

function request(values: TrustNewValues, messages: Messages): Html {
  const words = messages.request
  const { form_action, trust_types, typed, default_relationship: byDefault, error, error_field: wrong } = values
  const least = trust_types.some(({ name }) => name === byDefault) ? byDefault : (trust_types[0]?.name ?? '')
  const errorOf = (field: string): string | null => (wrong === field ? error : null)
  return html`
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
${values.fresh_href === null ? '' : html`<section class="card">${signInAgain(values.fresh_href, messages)}</section>`}
<form class="card" method="post" action="${form_action}">${forgeryField(values)}<input type="hidden" name="step" value="review">
${formField({
  id: 'peer_url',
  name: 'peer_url',
  label: words.address,
  value: typed.peer_url,
  hint: words.addressHint,
  error: errorOf('peer_url'),
  attributes: {
    ...verbatim,
    required: true,
    inputmode: 'url',
    maxlength: '2000',
    placeholder: 'https://example.com/5f0c…',
  },
})}
${levelChoice(
  {
    id: 'trust_type',
    legend: words.level,
    chosen: typed.trust_type === '' ? least : typed.trust_type,
    error: errorOf('trust_type'),
  },
  trust_types,
  messages,
)}
${formField({
  id: 'description',
  name: 'description',
  label: messages.forms.optional(words.message),
  value: typed.description,
  error: errorOf('description'),
  attributes: { maxlength: '2000' },
})}
<button type="submit">${words.review}</button></form>`
}

function reviewed(values: TrustNewValues, review: AccessReview, messages: Messages): Html {
  const words = messages.request
  const { form_action, typed } = values
  const { fields } = review
  return html`
<h1>${words.reviewTitle}</h1>
<section class="card urgent" aria-labelledby="review" tabindex="-1"${values.error === null ? html` autofocus` : ''}>
<h2 id="review">${words.before}</h2>
${reviewView(review, messages)}
${typed.description === '' ? '' : html`<p>${words.messageIs(typed.description)}</p>`}
<p class="fine">${review.membership === null ? words.notSent : messages.membership.notSent}</p>
${values.fresh_href === null ? '' : signInAgain(values.fresh_href, messages)}
<div class="actions">${values.fresh_href === null ? html`<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields(fields)}<button type="submit">${review.membership === null ? words.send : messages.membership.send}</button></form>` : ''}
<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ ...fields, step: 'edit' })}<button class="quiet" type="submit">${words.back}</button></form></div>
</section>`
}
