/** View of `/<actor>/www/properties/<name>`: one value or list, and the forms to change it. */
import { html } from 'hono/html'
import { icon } from '../shared/icons.ts'
import type { Messages } from '../languages/language.ts'
import { conflictField, conflictView } from './edit-conflict.ts'
import { developerView } from './developer-view.ts'
import { editors } from './editors.ts'
import { fieldId } from './fields-view.ts'
import { isTypedItem } from './form-fields.ts'
import { listContent } from './list-content-view.ts'
import { propertyStyle } from './style.ts'
import { deletion, pastRows } from '../shared/forms.ts'
import { actorPage, following, type PageContext } from '../shared/layout.ts'
import { avatar } from '../shared/avatar.ts'
import type { FilledField, PropertyValues, PropertyViewer } from './values.ts'
import { valueView } from '../shared/value-view.ts'
import { visible } from '../shared/visible.ts'
import type { Html } from '../shared/values.ts'

export function propertyPage(values: PropertyValues, context: PageContext): Html {
  const { property, actor_root, actor_www } = values
  const { messages } = context
  const address = `${actor_root}/properties/${encodeURIComponent(property)}`
  return actorPage(
    values,
    {
      ...context,
      title: visible(property),
      section: '/properties',
      trail: [{ text: messages.properties.title, href: `${actor_www}/properties` }],
      wrongField: wrongFieldOf(values),
      styles: [propertyStyle],
    },
    html`
<div class="head"><h1>${visible(property)}</h1>${values.qual === 'a' ? html`<p class="actions"><a class="button quiet" href="${actor_www}/history?name=${encodeURIComponent(property)}">${icon('history')} ${messages.history.link}</a></p>` : ''}</div>
${conflictView(values, messages)}
${values.qual === 'a' ? stored(values, address, messages) : values.conflict === null ? unset(values, messages) : ''}
${values.qual === 'a' ? audience(values, messages) : ''}`,
  )
}

/** The people and apps that can view the property, after the owner asked for them. */
function audience({ viewers, other_viewers, form_action }: PropertyValues, { properties: words }: Messages): Html {
  return following(
    'viewers-of',
    ['trust'],
    viewers === null
      ? html`<p><a href="${form_action}?viewers=1#viewers">${words.showViewers}</a></p>`
      : html`<section class="card" id="viewers" aria-labelledby="viewers-title"><h2 id="viewers-title">${words.viewers}</h2>
${viewers.length === 0 ? html`<p>${words.onlyYou}</p>` : html`<ul class="rows">${viewers.map(viewer(words))}</ul>`}
${other_viewers === 0 ? '' : html`<p class="fine">${words.otherViewers(other_viewers)}</p>`}</section>`,
  )
}

function viewer(words: Messages['properties']): (viewer: PropertyViewer) => Html {
  return ({ peer, can_edit }) =>
    html`<li><div class="row-head"><span class="person">${avatar(peer.peerid, peer.name, peer.is_app)} <a href="${peer.href}">${peer.name}</a></span><span class="badge">${can_edit ? words.canEdit : words.canView}</span></div></li>
`
}

function stored(values: PropertyValues, address: string, messages: Messages): Html {
  const { property, kind } = values
  const { properties, list: words } = messages
  return following(
    'value-of',
    ['properties'],
    html`<p class="lead">${kind} · <a href="${address}">${properties.viewJson}</a>${values.is_list_property ? pastRows(values.items.length, 'add', words.add) : ''}</p>
${values.is_list_property ? listContent(values, messages) : simple(values, messages)}`,
    property,
  )
}

/** A declared value that is not set, with its form. */
function unset(values: PropertyValues, messages: Messages): Html {
  const words = messages.properties
  const { typed, form_action, editable, property } = values
  return html`${following('value-of', ['properties'], html`<p class="lead">${values.kind}</p>`, property)}
${described(values)}
<section class="card" aria-label="${words.setIt}">
${editors(values, messages, {
  id: 'value',
  name: 'value',
  label: words.value,
  action: form_action,
  hidden: { redirect_to: form_action, version: values.version },
  fields: values.fields,
  editable: editable ?? { text: '', type: 'text' },
  typed: typed?.form === 'value' ? typed : null,
  button: words.save,
})}</section>`
}

function described({ description }: PropertyValues): Html | string {
  return description === '' ? '' : html`<p>${description}</p>`
}

/** Returns the id of the refused field. In a conflict, the typed value is in the form that resolves the conflict. */
function wrongFieldOf(values: PropertyValues): string | null {
  const { error_field: field, typed, conflict, items } = values
  if (field === null || typed === null) return null
  if (conflict !== null) return conflictField(conflict, typed)
  const shown = (id: string, root: FilledField | null): string | null => {
    if (typed.value_type !== 'fields') return id
    // The outermost group is the form itself.
    return root === null || (root.kind === 'group' && field === root.name) ? null : fieldId(`${id}-fields`, field)
  }
  switch (typed.form) {
    case 'value':
      return shown('value', values.fields)
    case 'add':
      return shown('new-item', values.new_fields)
    case 'add_several':
      return 'new-items'
    case 'metadata':
      return 'description'
    case 'move':
      return 'position'
    case 'update': {
      const item = items.find((each) => isTypedItem(typed, each))
      return item === undefined ? null : shown(`item-value-${item.index}`, item.fields)
    }
    default:
      return null
  }
}

function simple(values: PropertyValues, messages: Messages): Html {
  const words = messages.properties
  const { tree, property, form_action, actor_www } = values
  return html`${described(values)}
<section class="card" aria-label="${words.value}">${tree === null ? '' : valueView(tree, messages)}</section>
${values.is_read_only ? html`<p class="fine">${words.managed(values.name)}</p>` : change(values, messages)}
${developerView(values, messages)}
${deletion(
  values,
  {
    action: form_action,
    fields: { _method: 'DELETE', redirect_to: `${actor_www}/properties`, version: values.version },
    warning:
      values.undo_days === 0
        ? words.deleteValueText(visible(property))
        : words.deleteKeptValueText(visible(property), values.undo_days),
    button: words.deleteValue(visible(property)),
  },
  messages,
)}`
}

function change(values: PropertyValues, messages: Messages): Html {
  const words = messages.properties
  const { typed, form_action, conflict } = values
  if (conflict?.about === 'value') return html``
  const form = typed?.form === 'value' ? typed : null
  if (values.editable === null) return html`<p class="fine">${words.tooLarge}</p>`
  return html`<details class="card"${form === null ? '' : html` open`}><summary>${icon('pencil')} ${words.edit}</summary>
${editors(values, messages, {
  id: 'value',
  name: 'value',
  label: words.value,
  action: form_action,
  hidden: { redirect_to: form_action, version: values.version },
  fields: values.fields,
  editable: values.editable,
  typed: form,
  button: words.save,
})}</details>`
}
