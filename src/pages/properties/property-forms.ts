/** The forms on the pages of properties (WIRE-PAGE-02). */
import type { Registry } from '../../app/registry.ts'
import { ServiceError } from '../../errors.ts'
import { elements, type JsonText, known, normalize, pretty, stringText } from '../../json/json.ts'
import { indexFromJson } from '../../list/list.ts'
import type { Access } from '../../property/access.ts'
import { noVersion } from '../../property/version.ts'
import type { TypedItem, TypedProperty } from './values.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { sentValue } from '../shared/forms.ts'
import { goOnUndoable } from '../shared/page.ts'
import type { Params } from '../../http/edge/params.ts'
import type { Messages } from '../languages/language.ts'
import { fieldNameAt, readForm, sentFields } from './form-fields.ts'
import type { FormShape } from './form-shape.ts'
import { declaredForm, itemsOnAPage } from './kind-views.ts'
import { type PropertyPageDeps, type PropertyQuery, showProperties, showProperty } from './property-pages.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { ListingQuery } from './listing.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { explained, pageRefusal } from '../shared/error-text.ts'
import { atField, formRefusal, inputRefusal, refusedOnPage } from '../shared/refused-on-page.ts'

type FormExchange = PageExchange<string, PropertyQuery> & Bodied<Params>

export async function createProperty(
  deps: PropertyPageDeps,
  exchange: PageExchange<string, ListingQuery> & Bodied<Params>,
): Promise<HttpResponse> {
  const sent = await exchange.body()
  const field = (name: string): string => sent.get(name) ?? ''
  const given = sent.get('property_name') ?? field('property')
  const name = await deps.properties.nameOf(exchange.actor.id, given.trim())
  const typed: TypedProperty = {
    property_name: name === given.trim() ? given : name,
    property_value: sentValue(sent, 'property_value') ?? field('value'),
    property_type: sent.get('property_type') ?? 'simple',
    value_type: field('value_type'),
    description: field('description'),
    explanation: field('explanation'),
  }
  return refusedOnPage(
    exchange,
    async () => {
      if (typed.property_name.trim() === '')
        throw inputRefusal('a name is missing', ({ properties }) => properties.nameMissing, 'property_name')
      if (typed.property_type === 'list') await createList(deps, exchange, typed)
      else if (typed.property_type === 'simple') await createValue(deps, exchange, typed, sent.has('create_only'))
      else throw formRefusal('the type is neither simple nor list')
      return goOnUndoable(deps, exchange, sent, '/properties', 'created')
    },
    (error) => showProperties(deps, exchange, { error, typed }),
  )
}

async function createList(
  deps: PropertyPageDeps,
  { actor, caller }: PageExchange,
  typed: TypedProperty,
): Promise<void> {
  const access = { actor, caller }
  const name = typed.property_name.trim()
  await atField('property_name', async () => {
    const kind = await deps.properties.kindOf(access, 'write', [name])
    if (kind === 'list')
      throw inputRefusal('there is a list of this name', ({ properties }) => properties.listExists(name))
    await deps.listWriter.create(access, name, texts(typed), kind === null ? { expected: noVersion } : {})
  })
}

async function createValue(
  deps: PropertyPageDeps,
  exchange: PageExchange,
  typed: TypedProperty,
  isNew: boolean,
): Promise<void> {
  const { actor, caller } = exchange
  const access = { actor, caller }
  const name = typed.property_name.trim()
  const value = await atField('property_value', () =>
    valueOf(deps, typed.property_value, typed.value_type, wordsOf(deps, exchange)),
  )
  await atField('property_name', async () => {
    if (isNew && (await deps.properties.kindOf(access, 'write', [name])) !== null)
      throw pageRefusal('conflict', 'Cannot create the property: there is one of this name', ({ properties }) =>
        properties.nameExists(name),
      )
    const expected = isNew ? noVersion : undefined
    await aboutValue(
      () =>
        explainRejection(deps, name, () =>
          deps.properties.put(access, { path: [name] }, value, { operation: 'post', expected }),
        ),
      'property_value',
    )
  })
}

/** Attributes refusals that the value caused, according to their code, to the field. */
async function aboutValue<T>(work: () => Promise<T>, field: string): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isAbout = error instanceof ServiceError && ['invalid_value', 'rejected', 'forbidden'].includes(error.code)
    if (!isAbout) throw error
    return atField(field, () => {
      throw error
    })
  }
}

export async function changeProperty(deps: PropertyPageDeps, exchange: FormExchange): Promise<HttpResponse> {
  const { actor, caller, params } = exchange
  const sent = await exchange.body()
  const name = params['name'] ?? ''
  const access = { actor, caller }
  let typed: TypedItem = {
    ...nothingTyped,
    form: 'value',
    ...typedValue(sentValue(sent, 'value') ?? sent.get('property_value'), sent),
  }
  return refusedOnPage(
    exchange,
    async () => {
      const shape = sentShape(deps.registry.of(access.actor), 'value', name, sent)
      const shown = shape === null ? null : (await deps.properties.getWithVersion(access, name)).found
      const value = await givenValue(deps, {
        words: wordsOf(deps, exchange),
        shape,
        typed,
        field: 'value',
        stored: shown?.value ?? undefined,
      })
      typed = withValue(typed, value)
      const expected = sent.get('version')
      await atFormField(shape, 'value', () =>
        explainRejection(deps, name, () => deps.properties.put(access, { path: [name] }, value, { expected })),
      )
      return goOnUndoable(deps, exchange, sent, '/properties', 'saved')
    },
    (error) => showProperty(deps, exchange, { error, typed }),
  )
}

/** Explains that the application rejected a value. */
async function explainRejection<T>({ identity }: PropertyPageDeps, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'rejected') throw error
    throw explained(error, ({ properties }) => properties.rejected(identity.name, name))
  }
}

/** Deletes a value or a list. */
export async function deleteProperty(deps: PropertyPageDeps, exchange: FormExchange): Promise<HttpResponse> {
  const { actor, caller, params } = exchange
  const name = params['name'] ?? ''
  const sent = await exchange.body()
  const expected = sent.get('version')
  return refusedOnPage(
    exchange,
    async () => {
      await deps.properties.remove({ actor, caller }, { path: [name] }, { expected, mustExist: true })
      return goOnUndoable(deps, exchange, sent, '/properties', 'deleted')
    },
    (error) => {
      if (error.code !== 'conflict') throw error
      return showProperty(deps, exchange, { error, typed: { ...nothingTyped, form: 'remove' } })
    },
  )
}

const itemForms = ['add', 'add_several', 'update', 'move', 'delete'] as const satisfies readonly TypedItem['form'][]

export async function changeItem(deps: PropertyPageDeps, exchange: FormExchange): Promise<HttpResponse> {
  const sent = await exchange.body()
  const action = sent.get('action') ?? ''
  let typed: TypedItem = {
    ...nothingTyped,
    form: itemForms.find((form) => form === action) ?? 'add',
    item_index: sent.get('item_index') ?? '',
    item_handle: sent.get('item_handle') ?? '',
    position: sent.get('to') ?? sent.get('position') ?? '',
    ...typedValue(action === 'add_several' ? sent.get('items') : sentValue(sent, 'item_value'), sent),
  }
  return refusedOnPage(
    exchange,
    () =>
      changeItemAs(deps, exchange, typed, sent, (value) => {
        typed = withValue(typed, value)
      }),
    (error) => showProperty(deps, exchange, { error, typed }),
  )
}

/** @param accept Called with the item that the form sent. */
async function changeItemAs(
  deps: PropertyPageDeps,
  exchange: PageExchange<string, PropertyQuery>,
  typed: TypedItem,
  sent: Params,
  accept: (item: JsonText) => void,
): Promise<HttpResponse> {
  const { actor, caller, params } = exchange
  const access = { actor, caller }
  const name = params['name'] ?? ''
  const path = `/properties/${encodeURIComponent(name)}`
  const shape = sentShape(deps.registry.of(access.actor), 'list', name, sent)
  const typedItem = async (stored?: JsonText): Promise<JsonText> => {
    const item = await givenValue(deps, { words: wordsOf(deps, exchange), shape, typed, field: 'item_value', stored })
    accept(item)
    return item
  }
  switch (sent.get('action')) {
    case 'add': {
      const item = await typedItem()
      const { index } = await atFormField(shape, 'item_value', () =>
        keepTyped(sent, () => deps.listWriter.append(access, name, item)),
      )
      return goOnUndoable(deps, exchange, sent, lastPage(path, index + 1), 'added')
    }
    case 'add_several': {
      const items = await atField('items', () => severalOf(deps, typed, wordsOf(deps, exchange)))
      const length = await atField('items', () => keepTyped(sent, () => deps.listWriter.extend(access, name, items)))
      return goOnUndoable(deps, exchange, sent, lastPage(path, length ?? 0), 'addedSeveral')
    }
    case 'update': {
      const item = await typedItem(shape === null ? undefined : await shownItem(deps, access, name, typed))
      await atFormField(shape, 'item_value', () =>
        changePlace(sent, {
          byHandle: (handle) => deps.listWriter.updateByHandle(access, name, handle, item),
          byIndex: (index) => deps.listWriter.update(access, name, index, item),
        }),
      )
      return goOnUndoable(deps, exchange, sent, path, 'saved')
    }
    case 'move':
      return moveItem(deps, exchange, typed, sent)
    case 'delete':
      await changePlace(sent, {
        byHandle: (handle) => deps.listWriter.deleteByHandle(access, name, handle),
        byIndex: (index) => deps.listWriter.deleteItem(access, name, index),
      })
      return goOnUndoable(deps, exchange, sent, path, 'deleted')
    default:
      throw formRefusal('the action is neither add, add_several, update, move nor delete')
  }
}

/** Moves an item, and shows it with its form at its new position, so that the owner can move it on. */
async function moveItem(
  deps: PropertyPageDeps,
  exchange: PageExchange<string, PropertyQuery>,
  { item_handle: handle, position }: TypedItem,
  sent: Params,
): Promise<HttpResponse> {
  const { actor, caller, params } = exchange
  const access = { actor, caller }
  const name = params['name'] ?? ''
  const path = `/properties/${encodeURIComponent(name)}`
  const to = await atField('position', () => placeOf(position))
  await atField('position', async () => {
    const isMoved = await outsideAsInput(() => deps.listWriter.move(access, name, handle, to))
    if (!isMoved) throw overtaken()
  })
  const [moved] = await deps.listReader.itemsWithHandles(access, name, { from: to, to: to + 1 })
  const place = moved === undefined ? lastPage(path, to + 1) : `${path}?edit=${moved.handle}#item-${to}`
  return goOnUndoable(deps, exchange, sent, place, 'moved')
}

/** Reads a position that is counted from 1, and returns it counted from 0. */
function placeOf(position: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(position.trim()))
    throw inputRefusal('the position is not a number from 1', ({ list }) => list.notAPosition)
  return Number(position) - 1
}

/** Explains that the list has fewer positions. */
async function outsideAsInput<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid_index') throw error
    throw explained(error, ({ list }) => list.notAPosition)
  }
}

/** Address of the page with the last item of a list. */
function lastPage(path: string, length: number): string {
  return `${path}?page=${Math.max(1, Math.ceil(length / itemsOnAPage))}`
}

/** Reads several items: the elements of a JSON array, or the text of each line that is not blank. */
function severalOf(
  deps: PropertyPageDeps,
  { value, value_type: type }: TypedItem,
  words: Messages['forms'],
): readonly JsonText[] {
  const items = type === 'json' ? elements(valueOf(deps, value, type, words)) : linesOf(value).map(stringText)
  if (items === null) throw inputRefusal('the items are not a JSON array', ({ list }) => list.notAnArray)
  if (items.length === 0) throw inputRefusal('an item is missing', ({ list }) => list.noItems)
  return items
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** The item that the form edits, as it is now. */
async function shownItem(
  { listReader }: PropertyPageDeps,
  access: Access,
  name: string,
  { item_handle: handle, item_index: index }: TypedItem,
): Promise<JsonText | undefined> {
  if (handle !== '') return (await listReader.locate(access, name, handle))?.item
  return (await listReader.item(access, name, indexFromJson(stringText(index)))) ?? undefined
}

/** Converts the refusal of a meanwhile deleted list to a conflict, so that the page keeps the typed values. */
async function keepTyped<T>(sent: Params, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'not_found' || !sent.has('version')) throw error
    throw pageRefusal(
      'conflict',
      'The list was deleted while you were editing. Nothing was saved.',
      ({ list }) => list.deleted,
    )
  }
}

/** Changes an item. The built-in forms identify the item by its handle; other forms use its position. */
async function changePlace(
  sent: Params,
  change: { byHandle: (handle: string) => Promise<boolean>; byIndex: (index: number) => Promise<boolean> },
): Promise<void> {
  const handle = sent.get('item_handle')
  if (handle !== undefined) {
    if (!(await change.byHandle(handle))) throw overtaken()
    return
  }
  const index = indexFromJson(stringText(sent.get('item_index') ?? ''))
  if (!(await change.byIndex(index)))
    throw pageRefusal('invalid_index', `Cannot change the item: the list has no item ${index}`, ({ list }) =>
      list.itemGone(index + 1),
    )
}

function overtaken(): ServiceError {
  return pageRefusal(
    'conflict',
    'Cannot change the item: it was changed or removed meanwhile. Here it is as it is now.',
    ({ list }) => list.itemChanged,
  )
}

/** Changes the description and explanation of a list. */
export async function changeTexts(deps: PropertyPageDeps, exchange: FormExchange): Promise<HttpResponse> {
  const { actor, caller, params } = exchange
  const name = params['name'] ?? ''
  const sent = await exchange.body()
  const typed: TypedItem = {
    ...nothingTyped,
    form: 'metadata',
    description: sent.get('description') ?? '',
    explanation: sent.get('explanation') ?? '',
  }
  return refusedOnPage(
    exchange,
    async () => {
      if ((sent.get('action') ?? 'update') !== 'update') throw formRefusal('the action is not update')
      const expected = sent.get('version')
      await atField('description', () =>
        keepTyped(sent, () => deps.listWriter.setTexts({ actor, caller }, name, texts(typed), { expected })),
      )
      return goOnUndoable(deps, exchange, sent, `/properties/${encodeURIComponent(name)}`, 'saved')
    },
    (error) => showProperty(deps, exchange, { error, typed }),
  )
}

/**
 * Parses a typed value. Without a type, the value is JSON if it parses as JSON, else a string.
 *
 * @throws ServiceError `bad_request` when the field is empty or has another type, `invalid_json` when the type is JSON and
 *   parsing fails.
 */
function valueOf(deps: PropertyPageDeps, typed: string, type: string, words: Messages['forms']): JsonText {
  if (typed === '') throw inputRefusal('a value is missing', ({ properties }) => properties.valueMissing)
  // Browsers submit line breaks as CRLF.
  const text = typed.replaceAll('\r\n', '\n')
  if (type === 'text') return stringText(text)
  if (type === 'number') return numberOf(text, words)
  if (type === 'boolean') return booleanOf(text)
  try {
    return normalize(text, deps.config.maxJsonDepth)
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid_json') throw error
    if (type === 'json') throw withPlace(error, text)
    return stringText(text)
  }
}

function wordsOf({ languages }: PropertyPageDeps, { request }: PageExchange): Messages['forms'] {
  return languages.of(request).messages.forms
}

/** Keeps every digit of the number, which is typed as the language of the page writes it. */
function numberOf(typed: string, { readNumber }: Messages['forms']): JsonText {
  const number = readNumber(typed)
  if (number === null)
    throw inputRefusal('the value is not a number', ({ properties }) => properties.notANumber(typed.trim()))
  return normalize(number)
}

function booleanOf(text: string): JsonText {
  if (text === 'true' || text === 'false') return known(text)
  throw inputRefusal('the value is neither true nor false', ({ properties }) => properties.notABoolean(text))
}

/** Names the line and the column where the JSON ends to be valid. */
function withPlace(error: ServiceError, text: string): ServiceError {
  const { position } = error.detail
  if (position === undefined) return error
  const lines = text.slice(0, position).split('\n')
  return explained(error, ({ properties }) => properties.invalidJson(lines.length, (lines.at(-1)?.length ?? 0) + 1))
}

/** The value of a form: text, or the fields of declared data. */
interface Given {
  readonly shape: FormShape | null
  readonly typed: TypedItem
  /** The field with the text. */
  readonly field: string
  /** The value that the form showed. */
  readonly stored: JsonText | undefined
  readonly words: Messages['forms']
}

async function givenValue(deps: PropertyPageDeps, { shape, typed, field, stored, words }: Given): Promise<JsonText> {
  return shape === null
    ? atField(field, () => valueOf(deps, typed.value, typed.value_type, words))
    : readForm(shape, typed.fields, stored, words)
}

/** Null for a form that sends the value as text. @throws ServiceError `bad_request` when the data has no form. */
function sentShape(
  registry: Pick<Registry, 'data'>,
  kind: 'value' | 'list',
  name: string,
  sent: Params,
): FormShape | null {
  if (sent.get('value_type') !== 'fields') return null
  const shape = declaredForm(registry, kind, name)
  if (shape === null) throw formRefusal('the data is not declared, or its schema has no form')
  return shape
}

/** Attributes a refusal to the field that it names, and otherwise to the entire form. */
async function atFormField<T>(shape: FormShape | null, field: string, work: () => Promise<T>): Promise<T> {
  if (shape === null) return atField(field, work)
  try {
    return await work()
  } catch (error) {
    const wrong = error instanceof ServiceError ? error.detail.members?.['field'] : undefined
    return atField(fieldNameAt(shape, typeof wrong === 'string' ? wrong : ''), () => {
      throw error
    })
  }
}

/** In a form of fields, the page shows the value as JSON if it conflicts with a newer one. */
function withValue(typed: TypedItem, value: JsonText): TypedItem {
  return typed.value_type === 'fields' ? { ...typed, value: pretty(value) } : typed
}

const nothingTyped = {
  item_index: '',
  item_handle: '',
  position: '',
  value: '',
  value_type: '',
  fields: {},
  description: '',
  explanation: '',
}

function typedValue(value: string | undefined, sent: Params): Pick<TypedItem, 'value' | 'value_type' | 'fields'> {
  return { value: value ?? '', value_type: sent.get('value_type') ?? '', fields: sentFields(sent.entries) }
}

/** Returns only these two fields, because the list would store any further member. */
function texts({ description, explanation }: Pick<TypedItem, 'description' | 'explanation'>): {
  description: string
  explanation: string
} {
  return { description, explanation }
}
