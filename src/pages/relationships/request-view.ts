/** View of `/<actor>/www/trust/new`: the form that requests a relationship. */
import { html } from 'hono/html'
import { levelChoice, reviewView } from './access-review-view.ts'
import { formField, verbatim } from '../shared/form-field.ts'
import { hiddenFields } from '../shared/forms.ts'
import { actorPage, forgeryField, type Navigation } from '../shared/layout.ts'
import type { AccessReview, TrustNewValues } from './values.ts'
import type { Html } from '../shared/values.ts'

export function trustNewPage(values: TrustNewValues, navigation: Navigation): Html {
  const { actor_www, error_field, review } = values
  return actorPage(
    values,
    {
      title: 'Ask for a relationship',
      section: '/trust',
      navigation,
      trail: [{ text: 'Relationships', href: `${actor_www}/trust` }],
      isAnswer: review !== null,
      wrongField: error_field !== null && Object.hasOwn(ids, error_field) ? error_field : null,
    },
    review === null ? request(values) : reviewed(values, review),
  )
}

/** Fields of the form; the id of each field is its name. */
const ids = { peer_url: true, trust_type: true, description: true }

function request(values: TrustNewValues): Html {
  const { form_action, trust_types, typed, default_relationship: byDefault, error, error_field: wrong } = values
  const least = trust_types.some(({ name }) => name === byDefault) ? byDefault : (trust_types[0]?.name ?? '')
  const errorOf = (field: string): string | null => (wrong === field ? error : null)
  return html`
<h1>Ask for a relationship</h1>
<p class="lead">They get a request, and access to your account as selected below. They decide what you can access in theirs. You can change this later.</p>
<form class="card" method="post" action="${form_action}">${forgeryField(values)}<input type="hidden" name="step" value="review">
${formField({
  id: 'peer_url',
  name: 'peer_url',
  label: 'Address of the other actor',
  value: typed.peer_url,
  hint: 'They can copy it from their Overview page.',
  error: errorOf('peer_url'),
  attributes: {
    ...verbatim,
    required: true,
    inputmode: 'url',
    maxlength: '2000',
    placeholder: 'https://example.com/5f0c…',
  },
})}
${levelChoice('trust_type', 'What they can access in your account', trust_types, {
  chosen: typed.trust_type === '' ? least : typed.trust_type,
  error: errorOf('trust_type'),
})}
${formField({
  id: 'description',
  name: 'description',
  label: html`Message <span class="kind">(optional)</span>`,
  value: typed.description,
  error: errorOf('description'),
  attributes: { maxlength: '2000' },
})}
<button type="submit">Review request</button></form>`
}

function reviewed(values: TrustNewValues, review: AccessReview): Html {
  const { form_action, typed } = values
  const { fields } = review
  return html`
<h1>Review your request</h1>
<section class="card urgent" aria-labelledby="review" tabindex="-1"${values.error === null ? html` autofocus` : ''}>
<h2 id="review">Before you send it</h2>
${reviewView(review)}
${typed.description === '' ? '' : html`<p>Message: <q>${typed.description}</q></p>`}
<p class="fine">Nothing is sent yet. Their access starts as soon as the request arrives, before they accept it.</p>
<div class="actions"><form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields(fields)}<button type="submit">Send request</button></form>
<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ ...fields, step: 'edit' })}<button class="quiet" type="submit">Back</button></form></div>
</section>`
}
