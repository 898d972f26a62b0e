/**
 * Fills forms with values, and reads the values that they send. A field that the owner leaves unchanged keeps the stored spelling
 * of its value, and members that the form does not show stay.
 */
import { quoted } from '../../errors.ts'
import {
  array,
  elements,
  equal,
  isNull,
  type JsonText,
  kindOf,
  known,
  members,
  object,
  own,
  stringText,
  stringValue,
} from '../../json/json.ts'
import type { Messages } from '../languages/language.ts'
import { inputRefusal } from '../shared/refused-on-page.ts'
import type { Choice, FormShape, GroupShape, LinesShape, ScalarShape } from './form-shape.ts'
import type { FilledField, ListItemValues, TypedItem } from './values.ts'

/** The fields that a browser sent, by name. */
export type SentFields = Readonly<Record<string, string>>

/** Name of the outermost field. The names of members follow, each after a slash. */
const rootName = 'fields'

/** The fields of the form among all that a browser sent. */
export function sentFields(all: ReadonlyMap<string, string>): SentFields {
  const own = [...all].filter(([name]) => name === rootName || name.startsWith(`${rootName}/`))
  return Object.fromEntries(own)
}

/** Whether the refused form edited this item. The built-in forms use the handle, because the position may have changed. */
export function isTypedItem(
  typed: TypedItem | null,
  { handle, index }: Pick<ListItemValues, 'handle' | 'index'>,
): boolean {
  if (typed?.form !== 'update') return false
  return typed.item_handle === '' ? typed.item_index === String(index) : typed.item_handle === handle
}

/** Fills the form with the input of a refused form, if it was this form, and otherwise with the value. */
export function shownForm(
  shape: FormShape | null,
  value: JsonText | undefined,
  typed: TypedItem | null,
  { forms }: Messages,
): FilledField | null {
  if (shape === null) return null
  const field =
    typed?.value_type === 'fields'
      ? filledWith(shape, rootName, (leaf, name) => sentText(leaf, name, typed.fields))
      : value === undefined
        ? newForm(shape, rootName, undefined, forms)
        : storedForm(shape, rootName, value, forms)
  return field === null ? null : inWords(field, forms)
}

/** Adds the words of the form to a field: choices of a boolean, and hints about the input. */
function inWords(field: FilledField, words: Messages['forms']): FilledField {
  switch (field.kind) {
    case 'group':
      return { ...field, members: field.members.map((member) => inWords(member, words)) }
    case 'choice':
      return field.choices.length > 0 ? field : { ...field, choices: yesOrNo(words) }
    case 'date_time':
      return { ...field, hint: sentences(field.hint, words.timesInUtc) }
    case 'lines': {
      const labels = field.choices.map(({ label }) => label)
      const further = labels.length === 0 ? words.onePerLine : words.oneOfPerLine(labels)
      return { ...field, choices: [], hint: sentences(field.hint, further) }
    }
    default:
      return field
  }
}

function yesOrNo({ yes, no }: Messages['forms']): readonly Choice[] {
  return [
    { label: yes, value: known('true') },
    { label: no, value: known('false') },
  ]
}

type Leaf = ScalarShape | LinesShape

/** A form for a new value, with the defaults of the schema. */
function newForm(
  shape: FormShape,
  name: string,
  given: JsonText | undefined,
  words: Messages['forms'],
): FilledField | null {
  const value = given ?? shape.initial
  if (shape.kind !== 'group')
    return leafField(shape, name, value === undefined ? '' : (shownText(shape, value, words) ?? ''))
  const initial = value === undefined ? null : members(value)
  return groupField(shape, name, (member, inner, innerName) => newForm(inner, innerName, initial?.get(member), words))
}

/** Null when the form cannot show the value. */
function storedForm(
  shape: FormShape,
  name: string,
  value: JsonText | undefined,
  words: Messages['forms'],
): FilledField | null {
  if (shape.kind !== 'group') {
    const text = value === undefined ? '' : shownText(shape, value, words)
    return text === null ? null : leafField(shape, name, text)
  }
  const inside =
    value === undefined || (isNull(value) && shape.isNullable) ? new Map<string, JsonText>() : members(value)
  if (inside === null) return null
  return groupField(shape, name, (member, inner, innerName) => storedForm(inner, innerName, inside.get(member), words))
}

function filledWith(shape: FormShape, name: string, textOf: (leaf: Leaf, name: string) => string): FilledField | null {
  return shape.kind === 'group'
    ? groupField(shape, name, (_member, inner, inside) => filledWith(inner, inside, textOf))
    : leafField(shape, name, textOf(shape, name))
}

function groupField(
  shape: GroupShape,
  name: string,
  fill: (member: string, inner: FormShape, name: string) => FilledField | null,
): FilledField | null {
  const filled = shape.members.map(([member, inner]) => {
    const field = fill(member, inner, nameOf(name, member))
    return field === null ? null : { ...field, label: inner.title ?? member }
  })
  if (!filled.every((field) => field !== null)) return null
  return { ...plainField(shape, name), members: mayBeEmpty(shape) ? filled.map(notRequired) : filled }
}

/** A field of a group that may be empty. The browser must not require it. */
function notRequired(field: FilledField): FilledField {
  return { ...field, attributes: { ...field.attributes, required: false }, members: field.members.map(notRequired) }
}

function leafField(leaf: Leaf, name: string, value: string): FilledField {
  const field = { ...plainField(leaf, name), value }
  switch (leaf.kind) {
    case 'text':
      return { ...field, attributes: leaf.attributes, rows: leaf.rows ?? (value.includes('\n') ? 4 : null) }
    case 'boolean':
      return isCheckbox(leaf) ? field : { ...field, kind: 'choice' }
    case 'choice':
      return { ...field, choices: leaf.choices, attributes: { required: !field.may_be_empty } }
    case 'lines':
      return { ...field, rows: 4, choices: leaf.element.kind === 'choice' ? leaf.element.choices : [] }
    default:
      return { ...field, ...required(leaf, field) }
  }
}

function required(leaf: Extract<Leaf, { kind: 'number' | 'date' | 'date_time' }>, { may_be_empty }: FilledField) {
  return { attributes: { ...leaf.attributes, required: !may_be_empty } }
}

function sentences(hint: string, further: string): string {
  return hint === '' ? further : `${hint.replace(/[.!?]?$/, (end) => end || '.')} ${further}`
}

function plainField(shape: FormShape, name: string): FilledField {
  return {
    name,
    kind: shape.kind,
    label: shape.title ?? '',
    hint: shape.description,
    value: '',
    may_be_empty: mayBeEmpty(shape),
    attributes: {},
    rows: null,
    choices: [],
    members: [],
  }
}

function mayBeEmpty({ isOptional, isNullable }: FormShape): boolean {
  return isOptional || isNullable
}

function isCheckbox(leaf: Leaf): boolean {
  return leaf.kind === 'boolean' && !mayBeEmpty(leaf)
}

function nameOf(name: string, member: string): string {
  return `${name}/${encodeURIComponent(member)}`
}

/** The text of a field for a value. Null when the field would not send the value back. */
function shownText(leaf: Leaf, value: JsonText, words: Messages['forms']): string | null {
  if (isNull(value)) return leaf.isNullable ? '' : null
  if (leaf.kind !== 'lines') return scalarText(leaf, value, words)
  const lines = elements(value)?.map((element) => lineText(leaf.element, element, words))
  if (lines === undefined || lines.some((line) => line === null || line === '' || line.includes('\n'))) return null
  return lines.join('\n')
}

function lineText(leaf: ScalarShape, value: JsonText, words: Messages['forms']): string | null {
  return leaf.kind === 'choice' ? labelOf(leaf.choices, value) : scalarText(leaf, value, words)
}

function scalarText(leaf: ScalarShape, value: JsonText, { numberText }: Messages['forms']): string | null {
  switch (leaf.kind) {
    case 'text':
      return formText(stringValue(value))
    case 'number':
      return kindOf(value) === 'number' && Number.isFinite(Number(value)) ? numberText(value) : null
    case 'date':
      return dateText(stringValue(value))
    case 'date_time':
      return timeText(stringValue(value))
    case 'boolean':
      return kindOf(value) === 'boolean' ? value : null
    case 'choice':
      return leaf.choices.find((choice) => equal(choice.value, value))?.value ?? null
    default:
      return leaf satisfies never
  }
}

function labelOf(choices: readonly Choice[], value: JsonText): string | null {
  return choices.find((choice) => equal(choice.value, value))?.label ?? null
}

/** Null for a string with characters that a form replaces. */
function formText(text: string | null): string | null {
  return text === null || /[\r\0]/.test(text) || !text.isWellFormed() ? null : text
}

function dateText(text: string | null): string | null {
  return text !== null && /^\d{4}-\d{2}-\d{2}$/.test(text) ? text : null
}

/** The time in UTC, as a field for a date and a time shows it. */
function timeText(text: string | null): string | null {
  const ms = text !== null && /^\d{4}-\d{2}-\d{2}T.+(?:Z|[+-]\d{2}:\d{2})$/i.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) return null
  const shown = new Date(ms).toISOString()
  return /^\d{4}/.test(shown) ? shown.slice(0, -1).replace(/(?::00)?\.000$/, '') : null
}

/** Browsers send line breaks as CRLF, and no unchecked box. Spaces around a number or a date mean nothing. */
function sentText(leaf: Leaf, name: string, sent: SentFields): string {
  const text = (own(sent, name) ?? '').replaceAll('\r\n', '\n')
  if (isCheckbox(leaf)) return String(text === 'true')
  return leaf.kind === 'number' || leaf.kind === 'date' || leaf.kind === 'date_time' ? text.trim() : text
}

/**
 * Reads the value of a form.
 *
 * @param stored the value that the form showed.
 * @throws ServiceError `bad_request` with the name of the field.
 */
export function readForm(
  shape: FormShape,
  sent: SentFields,
  stored: JsonText | undefined,
  words: Messages['forms'],
): JsonText {
  const value = readField(shape, rootName, sent, stored, words)
  if (value === undefined) throw inputRefusal('a value is missing', missing, rootName)
  return value
}

/** Undefined when the member is missing. */
function readField(
  shape: FormShape,
  name: string,
  sent: SentFields,
  stored: JsonText | undefined,
  words: Messages['forms'],
): JsonText | undefined {
  if (shape.kind === 'group') return readGroup(shape, name, sent, stored, words)
  const text = sentText(shape, name, sent)
  if (stored !== undefined && shownText(shape, stored, words) === text) return stored
  if (text === '') return emptyValue(shape, name, stored)
  if (shape.kind !== 'lines') return scalarValue(shape, name, text, words)
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return array(lines.map((line) => lineValue(shape.element, name, line, words)))
}

function emptyValue(leaf: Leaf, name: string, stored: JsonText | undefined): JsonText | undefined {
  if (leaf.isNullable && !(leaf.isOptional && stored === undefined)) return known('null')
  if (leaf.isOptional) return undefined
  if (leaf.kind === 'text') return stringText('')
  if (leaf.kind === 'lines') return array([])
  throw inputRefusal('a value is missing', missing, name)
}

function missing({ properties }: Messages): string {
  return properties.valueMissing
}

function lineValue(element: ScalarShape, name: string, line: string, words: Messages['forms']): JsonText {
  if (element.kind === 'text') return stringText(line)
  if (element.kind !== 'choice') return scalarValue(element, name, line.trim(), words)
  const choice = element.choices.find(({ label }) => label === line.trim())
  if (choice === undefined)
    throw inputRefusal(
      `${quoted(line)} is not one of the choices`,
      ({ properties }) => properties.notAChoice(line),
      name,
    )
  return choice.value
}

/** A date, and the time of a clock with 24 hours. */
const typedTime = /^(?<day>.{6,40}?)(?:T|,? )(?<clock>(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,3})?)?)$/

function scalarValue(leaf: ScalarShape, name: string, text: string, words: Messages['forms']): JsonText {
  switch (leaf.kind) {
    case 'text':
      return stringText(text)
    case 'number':
      return numberValue(words.readNumber(text), text, name)
    case 'date': {
      // Browsers without a field for dates send what the person typed.
      const date = words.readDate(text)
      if (date === null)
        throw inputRefusal(`${quoted(text)} is not a date`, ({ properties }) => properties.notADate(text), name)
      return stringText(date)
    }
    case 'date_time':
      return timeValue(text, name, words)
    case 'boolean':
      if (text !== 'true' && text !== 'false')
        throw inputRefusal(
          `${quoted(text)} is neither true nor false`,
          ({ properties }) => properties.notABoolean(text),
          name,
        )
      return known(text)
    case 'choice': {
      const choice = leaf.choices.find(({ value }) => value === text)
      if (choice === undefined)
        throw inputRefusal(
          `${quoted(text)} is not one of the choices`,
          ({ properties }) => properties.notAChoice(text),
          name,
        )
      return choice.value
    }
    default:
      return leaf satisfies never
  }
}

function timeValue(text: string, name: string, words: Messages['forms']): JsonText {
  const { day = '', clock = '' } = typedTime.exec(text.trim())?.groups ?? {}
  const date = words.readDate(day)
  if (date === null)
    throw inputRefusal(`${quoted(text)} is not a date with a time`, ({ properties }) => properties.notATime(text), name)
  return stringText(`${date}T${clock.length === 5 ? `${clock}:00` : clock}Z`)
}

function numberValue(number: string | null, text: string, name: string): JsonText {
  if (number === null)
    throw inputRefusal(`${quoted(text)} is not a number`, ({ properties }) => properties.notANumber(text), name)
  return known(number)
}

function readGroup(
  group: GroupShape,
  name: string,
  sent: SentFields,
  stored: JsonText | undefined,
  words: Messages['forms'],
): JsonText | undefined {
  const before = stored === undefined ? null : members(stored)
  const isEmptied = filledWith(group, name, (leaf, inside) => sentText(leaf, inside, sent))
  if (mayBeEmpty(group) && isBlank(isEmptied)) {
    const isUnchanged = before === null || isBlank(storedForm(group, name, stored, words))
    if (isUnchanged) return stored ?? (group.isOptional ? undefined : known('null'))
    return group.isNullable ? known('null') : undefined
  }
  const values = new Map(before)
  for (const [member, shape] of group.members) {
    const value = readField(shape, nameOf(name, member), sent, before?.get(member), words)
    if (value === undefined) values.delete(member)
    else values.set(member, value)
  }
  return object(values)
}

/** Whether no field of the form has a value. */
function isBlank(field: FilledField | null): boolean {
  if (field?.kind === 'group') return field.members.every(isBlank)
  return field === null || field.value === '' || (field.kind === 'boolean' && field.value === 'false')
}

/**
 * The name of the field that shows a member.
 *
 * @param path the names on the way to the member, with dots between them.
 */
export function fieldNameAt(shape: FormShape, path: string, name = rootName): string {
  if (shape.kind !== 'group') return name
  for (const [member, inner] of shape.members) {
    if (path === member || path.startsWith(`${member}.`))
      return fieldNameAt(inner, path.slice(member.length + 1), nameOf(name, member))
  }
  return name
}
