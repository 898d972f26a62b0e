/** `/<actor>/www/properties`: values and lists on pages, and the forms that change them. */
import { ServiceError } from '../../errors.ts'
import {
  isString,
  type Json,
  type JsonText,
  normalise,
  pretty,
  stringText,
  stringValue,
  toPlain,
} from '../../json/json.ts'
import type { Access } from '../../property/access.ts'
import { indexFromJson } from '../../property/list.ts'
import type { StoredProperty } from '../../property/property-store.ts'
import { listMetadata } from '../../property/list.ts'
import type {
  Editable,
  Paging,
  PropertyRow,
  PropertyValues,
  TypedItem,
  TypedProperty,
} from '../../ui/property-values.ts'
import { kindInWords, previewOf, treeOf } from '../../ui/value-tree.ts'
import { count } from '../../ui/words.ts'
import { acceptsPages } from '../accepts.ts'
import type { Answer } from '../answer.ts'
import { goOn, pageValues, readForm, showPage } from '../page.ts'
import type { Params } from '../params.ts'
import type { PageExchange, Route } from '../route.ts'
import { formResponses, pageResponses } from '../schemas.ts'
import { nothingAt } from './properties.ts'

const form = (...fields: readonly string[]) => ({
  'application/x-www-form-urlencoded': {
    type: 'object',
    properties: Object.fromEntries(
      [...fields, 'csrf_token', 'redirect_to'].map((field) => [field, { type: 'string' }]),
    ),
  },
})

const page = { page: 'Which part, from 1' }

export const wwwPropertyRoutes: readonly Route[] = [
  {
    id: 'propertiesPage',
    method: 'GET',
    path: '/:actor/www/properties',
    access: 'www',
    summary: 'The properties of the actor',
    query: page,
    responses: pageResponses,
    handler: (exchange) => showProperties(exchange),
  },
  {
    id: 'createPropertyForm',
    method: 'POST',
    path: '/:actor/www/properties',
    access: 'www',
    summary: 'Creates a property or a list, or sets a property',
    request: form('property_name', 'property_value', 'property_type', 'value_type', 'description', 'explanation'),
    responses: formResponses,
    handler: create,
  },
  {
    id: 'propertyPage',
    method: 'GET',
    path: '/:actor/www/properties/:name',
    access: 'www',
    summary: 'A property or a list',
    query: page,
    responses: pageResponses,
    handler: (exchange) => showProperty(exchange),
  },
  {
    id: 'propertyForm',
    method: 'POST',
    path: '/:actor/www/properties/:name',
    access: 'www',
    summary: 'Sets the property',
    request: form('value', 'value_type'),
    responses: formResponses,
    handler: change,
  },
  {
    id: 'deletePropertyForm',
    method: 'DELETE',
    path: '/:actor/www/properties/:name',
    access: 'www',
    summary: 'Deletes the property or the list; forms send `_method`',
    responses: formResponses,
    handler: remove,
  },
  {
    id: 'itemForm',
    method: 'POST',
    path: '/:actor/www/properties/:name/items',
    access: 'www',
    summary: 'Adds, changes or deletes an item of the list',
    request: form('action', 'item_value', 'value_type', 'item_index', 'item_handle'),
    responses: formResponses,
    handler: changeItem,
  },
  {
    id: 'listTextsForm',
    method: 'POST',
    path: '/:actor/www/properties/:name/metadata',
    access: 'www',
    summary: 'Changes what the list says about itself',
    request: form('action', 'description', 'explanation'),
    responses: formResponses,
    handler: changeTexts,
  },
]

/** Of a page: properties, and items of a list. */
const rowsOnAPage = 100
const itemsOnAPage = 50

/** In characters; what is longer is not put into a form. */
const longestEditable = 200_000

// Showing

async function showProperties(
  exchange: PageExchange,
  refused: { readonly error: ServiceError; readonly typed: TypedProperty } | null = null,
): Promise<Answer> {
  const { parts, actor, caller, query } = exchange
  const access = { actor, caller }
  const all = await parts.lists.withoutHidden(access, await parts.properties.all(access))
  const paging = pagingOf(query, all.length, rowsOnAPage)
  const onPage = all.slice((paging.page - 1) * rowsOnAPage, paging.page * rowsOnAPage)
  const values = pageValues(exchange, '/properties', refused?.error.message ?? null)
  const rows = await Promise.all(onPage.map((property) => rowOf(exchange, property, values.actor_www)))
  const page = parts.pages.properties({
    ...values,
    properties: Object.fromEntries(
      onPage.map((property, at) => [property.name, plainOf(property, rows[at]?.kind ?? '')]),
    ),
    read_only_properties: rows.filter((row) => row.is_read_only).map(({ name }) => name),
    list_properties: rows.filter((row) => row.is_list_property).map(({ name }) => name),
    rows,
    paging,
    typed: refused?.typed ?? null,
  })
  return showPage(exchange, page, refused?.error.status)
}

async function rowOf(
  { parts, actor, caller }: PageExchange,
  property: StoredProperty,
  www: string,
): Promise<PropertyRow> {
  const { name } = property
  const row = { name, href: `${www}/properties/${encodeURIComponent(name)}` }
  if (property.kind === 'list')
    return { ...row, kind: lengthInWords(property), preview: '', is_list_property: true, is_read_only: false }
  return {
    ...row,
    kind: kindInWords(property.value),
    preview: previewOf(property.value),
    is_list_property: false,
    is_read_only: !(await parts.properties.isWritable({ actor, caller }, name, property.value)),
  }
}

/** A damaged list says so, and leaves the rest of the listing readable. */
function lengthInWords({ name, head }: Extract<StoredProperty, { kind: 'list' }>): string {
  try {
    return `List with ${count(listMetadata(name, head).length, 'item')}`
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'list_corrupted') return 'List, damaged'
    throw error
  }
}

function plainOf(property: StoredProperty, kind: string): Json {
  return property.kind === 'list' ? `[${kind}]` : toPlain(property.value)
}

async function showProperty(
  exchange: PageExchange,
  refused: { readonly error: ServiceError; readonly typed: TypedItem } | null = null,
): Promise<Answer> {
  const { parts, actor, caller } = exchange
  const access = { actor, caller }
  const name = exchange.params['name'] ?? ''
  const found = await parts.properties.get(access, [name])
  if (found === null) throw nothingAt([name])
  const path = `/properties/${encodeURIComponent(name)}`
  const common = pageValues(exchange, path, refused?.error.message ?? null)
  const values = {
    ...common,
    property: name,
    qual: 'a' as const,
    form_action: `${common.actor_www}${path}`,
    typed: refused?.typed ?? null,
  }
  const page =
    found.kind === 'list'
      ? parts.pages.property({ ...values, ...(await listValues(exchange, access, name)) })
      : parts.pages.property({ ...values, ...(await simpleValues(exchange, access, name, found.value)) })
  return showPage(exchange, page, refused?.error.status)
}

type Shown = Omit<PropertyValues, keyof ReturnType<typeof pageValues> | 'property' | 'qual' | 'form_action' | 'typed'>

async function simpleValues({ parts }: PageExchange, access: Access, name: string, value: JsonText): Promise<Shown> {
  const editable = editableOf(value)
  return {
    value: editable.text,
    raw_value: toPlain(value),
    kind: kindInWords(value),
    is_read_only: !(await parts.properties.isWritable(access, name, value)),
    is_list_property: false,
    list_description: '',
    list_explanation: '',
    list_items: [],
    items: [],
    paging: { page: 1, pages: 1, total: 1 },
    tree: treeOf(value),
    editable: editable.text.length > longestEditable ? null : editable,
  }
}

async function listValues({ parts, query }: PageExchange, access: Access, name: string): Promise<Shown> {
  const metadata = await parts.lists.metadata(access, name)
  if (metadata === null) throw nothingAt([name])
  const paging = pagingOf(query, metadata.length, itemsOnAPage)
  const from = (paging.page - 1) * itemsOnAPage
  const items = await parts.lists.itemsWithHandles(access, name, { from, to: from + itemsOnAPage })
  const kind = `List with ${count(metadata.length, 'item')}`
  return {
    value: `[${kind}]`,
    raw_value: null,
    kind,
    is_read_only: false,
    is_list_property: true,
    list_description: metadata.description,
    list_explanation: metadata.explanation,
    list_items: items.map(({ item }) => toPlain(item)),
    items: items.map(({ index, handle, item }) => ({ index, handle, tree: treeOf(item), editable: editableOf(item) })),
    paging,
    tree: null,
    editable: null,
  }
}

function editableOf(value: JsonText): Editable {
  return isString(value) ? { text: stringValue(value) ?? '', type: 'text' } : { text: pretty(value), type: 'json' }
}

/** The part that is asked for; the last one for what lies behind it. */
function pagingOf(query: Params, total: number, size: number): Paging {
  const pages = Math.max(1, Math.ceil(total / size))
  const wanted = /^[0-9]{1,9}$/.test(query.get('page') ?? '') ? Number(query.get('page')) : 1
  return { page: Math.min(Math.max(wanted, 1), pages), pages, total }
}

// Changing

async function create(exchange: PageExchange): Promise<Answer> {
  const { parts, actor, caller } = exchange
  const access = { actor, caller }
  const sent = await readForm(exchange)
  const field = (name: string): string => sent.get(name) ?? ''
  const typed: TypedProperty = {
    property_name: sent.get('property_name') ?? field('property'),
    property_value: sent.get('property_value') ?? field('value'),
    property_type: sent.get('property_type') ?? 'simple',
    value_type: field('value_type'),
    description: field('description'),
    explanation: field('explanation'),
  }
  const name = typed.property_name.trim()
  return refusedOnPage(
    exchange,
    async () => {
      if (name === '') throw refusal('a name is missing')
      if (typed.property_type === 'list') {
        if ((await parts.properties.kindOf(access, 'write', [name])) === 'list')
          throw refusal('there is a list of this name')
        await parts.lists.create(access, name, texts(typed))
      } else if (typed.property_type === 'simple') {
        const value = valueOf(exchange, typed.property_value, typed.value_type)
        if (sent.has('create_only') && (await parts.properties.kindOf(access, 'write', [name])) !== null)
          throw new ServiceError('conflict', 'Cannot create the property: there is one of this name')
        await parts.properties.put(access, [name], value, 'post')
      } else throw refusal('the type is neither simple nor list')
      return goOn(exchange, sent, '/properties', 'created')
    },
    (error) => showProperties(exchange, { error, typed }),
  )
}

async function change(exchange: PageExchange): Promise<Answer> {
  const { parts, actor, caller, params } = exchange
  const sent = await readForm(exchange)
  const name = params['name'] ?? ''
  const typed: TypedItem = {
    ...nothingTyped,
    form: 'value',
    ...typedValue(sent.get('value') ?? sent.get('property_value'), sent),
  }
  return refusedOnPage(
    exchange,
    async () => {
      await parts.properties.put({ actor, caller }, [name], valueOf(exchange, typed.value, typed.value_type))
      return goOn(exchange, sent, '/properties', 'saved')
    },
    (error) => showProperty(exchange, { error, typed }),
  )
}

async function remove(exchange: PageExchange): Promise<Answer> {
  const { parts, actor, caller, params, request } = exchange
  const access = { actor, caller }
  const name = params['name'] ?? ''
  const sent = request.method === 'POST' ? await readForm(exchange) : exchange.query
  const kind = await parts.properties.kindOf(access, 'delete', [name])
  if (kind === null) throw nothingAt([name])
  if (kind === 'list') await parts.lists.remove(access, name)
  else await parts.properties.delete(access, [name])
  return goOn(exchange, sent, '/properties', 'deleted')
}

async function changeItem(exchange: PageExchange): Promise<Answer> {
  const { parts, actor, caller, params } = exchange
  const access = { actor, caller }
  const name = params['name'] ?? ''
  const path = `/properties/${encodeURIComponent(name)}`
  const sent = await readForm(exchange)
  const action = sent.get('action') ?? ''
  const typed: TypedItem = {
    ...nothingTyped,
    form: action === 'update' || action === 'delete' ? action : 'add',
    item_index: sent.get('item_index') ?? '',
    ...typedValue(sent.get('item_value'), sent),
  }
  return refusedOnPage(
    exchange,
    async () => {
      switch (action) {
        case 'add': {
          const { index } = await parts.lists.append(access, name, valueOf(exchange, typed.value, typed.value_type))
          return goOn(exchange, sent, `${path}?page=${Math.floor(index / itemsOnAPage) + 1}`, 'added')
        }
        case 'update': {
          const value = valueOf(exchange, typed.value, typed.value_type)
          await changePlace(sent, {
            byHandle: (handle) => parts.lists.updateByHandle(access, name, handle, value),
            byIndex: (index) => parts.lists.update(access, name, index, value),
          })
          return goOn(exchange, sent, path, 'saved')
        }
        case 'delete':
          await changePlace(sent, {
            byHandle: (handle) => parts.lists.deleteByHandle(access, name, handle),
            byIndex: (index) => parts.lists.deleteItem(access, name, index),
          })
          return goOn(exchange, sent, path, 'deleted')
        default:
          throw refusal('the action is neither add, update nor delete')
      }
    },
    (error) => showProperty(exchange, { error, typed }),
  )
}

/** Our own forms name the item itself; others name its position. */
async function changePlace(
  sent: Params,
  change: { byHandle: (handle: string) => Promise<boolean>; byIndex: (index: number) => Promise<boolean> },
): Promise<void> {
  const handle = sent.get('item_handle')
  if (handle !== undefined) {
    if (!(await change.byHandle(handle)))
      throw new ServiceError(
        'conflict',
        'Cannot change the item: it was changed or removed meanwhile. Here it is as it is now.',
      )
    return
  }
  const index = indexFromJson(stringText(sent.get('item_index') ?? ''))
  if (!(await change.byIndex(index)))
    throw new ServiceError('invalid_index', `Cannot change the item: the list has no item ${index}`)
}

async function changeTexts(exchange: PageExchange): Promise<Answer> {
  const { parts, actor, caller, params } = exchange
  const name = params['name'] ?? ''
  const sent = await readForm(exchange)
  const typed: TypedItem = {
    ...nothingTyped,
    form: 'metadata',
    description: sent.get('description') ?? '',
    explanation: sent.get('explanation') ?? '',
  }
  return refusedOnPage(
    exchange,
    async () => {
      if ((sent.get('action') ?? 'update') !== 'update') throw refusal('the action is not update')
      await parts.lists.setTexts({ actor, caller }, name, texts(typed))
      return goOn(exchange, sent, `/properties/${encodeURIComponent(name)}`, 'saved')
    },
    (error) => showProperty(exchange, { error, typed }),
  )
}

/** A person gets the page again with what was typed and why it was not taken; a program gets the error. */
async function refusedOnPage(
  exchange: PageExchange,
  work: () => Promise<Answer>,
  show: (error: ServiceError) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error
    // What a hook does not take from a page is not allowed (wire, 5.3), whichever way it was sent.
    const told = error.code === 'rejected' ? new ServiceError('forbidden', error.message, error.detail) : error
    if (!acceptsPages(exchange.request) || told.code === 'not_found') throw told
    return show(told)
  }
}

/**
 * What a field stands for. Where the form does not say what it is: JSON when it can be read so, else a text.
 *
 * @throws ServiceError `bad_request` when nothing was typed, `invalid_json` for what is to be JSON and is not.
 */
function valueOf({ parts }: PageExchange, typed: string, type: string): JsonText {
  if (typed === '') throw refusal('a value is missing')
  // Browsers send the line breaks of a form in their own way.
  const text = typed.replaceAll('\r\n', '\n')
  if (type === 'text') return stringText(text)
  try {
    return normalise(text, parts.config.maxJsonDepth)
  } catch (error) {
    if (type === 'json' || !(error instanceof ServiceError) || error.code !== 'invalid_json') throw error
    return stringText(text)
  }
}

const nothingTyped = { item_index: '', value: '', value_type: '', description: '', explanation: '' }

function typedValue(value: string | undefined, sent: Params): Pick<TypedItem, 'value' | 'value_type'> {
  return { value: value ?? '', value_type: sent.get('value_type') ?? '' }
}

function texts({ description, explanation }: Pick<TypedItem, 'description' | 'explanation'>): {
  description: string
  explanation: string
} {
  return { description, explanation }
}

function refusal(why: string): ServiceError {
  return new ServiceError('bad_request', `Cannot take the form: ${why}`)
}
