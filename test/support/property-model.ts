/** A model of the properties of one actor, which computes the expected response and state of each HTTP request. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

export interface ListState {
  readonly items: readonly Json[]
  readonly description: string
  readonly explanation: string
}

type Stored = { readonly value: Json } | { readonly list: ListState }

/** A request below `/<actor>/properties`. */
export interface Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly path: readonly string[]
  readonly query?: string
  /** Sent as JSON. */
  readonly json?: Json
  /** Sent as text. */
  readonly text?: string
}

export interface Expected {
  /** More than one status when a request has several errors and the rules define no order between them. */
  readonly statuses: readonly number[]
  /** The response body as JSON. */
  readonly json?: Json
  readonly text?: string
}

class Refused extends Error {
  readonly statuses: readonly number[]

  constructor(...statuses: readonly number[]) {
    super(`refused with ${statuses.join(' or ')}`)
    this.statuses = statuses
  }
}

/** The empty string, which deletes a property, because a property cannot have it as value. */
const nothing = ''

export class PropertyModel {
  #stored = new Map<string, Stored>()

  /** The response of `GET /properties?format=full`. */
  get everything(): Json {
    const shown: Record<string, Json> = {}
    for (const [name, stored] of this.#stored)
      set(shown, name, 'value' in stored ? stored.value : fullList(stored.list))
    return shown
  }

  /** Returns the indexed string of a property, by which the actor can be found, or null. */
  indexText(name: string): string | null {
    const stored = this.#stored.get(name)
    if (stored === undefined || !('value' in stored)) return null
    return typeof stored.value === 'string' && !stored.value.includes('\0') ? stored.value : null
  }

  apply(request: Request): Expected {
    const before = new Map(this.#stored)
    try {
      return this.#answer(request)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      this.#stored = before
      return { statuses: error.statuses }
    }
  }

  #answer(request: Request): Expected {
    const [name, ...below] = request.path
    if (name === undefined) return this.#all(request)
    if (below.length === 1 && below[0] === 'items' && (request.method === 'GET' || request.method === 'POST'))
      return this.#items(name, request)
    if (below.length === 1 && below[0] === 'metadata' && (request.method === 'GET' || request.method === 'PUT'))
      return this.#metadata(name, request)
    const index = request.query === undefined ? undefined : /^index=(.*)$/.exec(request.query)?.[1]
    const list = this.#list(name)
    switch (request.method) {
      case 'GET':
        return list === null ? this.#get(name, below) : getFromList(list, below, index)
      case 'PUT': {
        const value = bodyOf(request)
        if (list !== null && (below.length > 0 || index !== undefined)) this.#putItem(name, list, below, index, value)
        else if (index !== undefined && below.length === 0) throw new Refused(404)
        else this.#put(name, below, value)
        return { statuses: [204] }
      }
      case 'POST': {
        const value = bodyOf(request)
        if (list === null) this.#put(name, below, value)
        else if (below.length > 0) throw new Refused(409)
        else if (value === null) throw new Refused(400)
        else this.#setList(name, { ...list, items: [...list.items, value] })
        return { statuses: [201], json: value }
      }
      case 'DELETE':
        if (list === null) this.#delete(name, below, index)
        else if (below.length === 0 && index === undefined) this.#stored.delete(name)
        else {
          const at = below.length > 1 ? -1 : position(below[0] ?? index ?? '')
          if (at < 0 || at >= list.items.length) throw new Refused(404)
          this.#setList(name, { ...list, items: list.items.toSpliced(at, 1) })
        }
        return { statuses: [204] }
    }
  }

  // One value

  #get(name: string, below: readonly string[]): Expected {
    const stored = this.#stored.get(name)
    if (stored === undefined || !('value' in stored)) throw new Refused(404)
    let value: Json | undefined = stored.value
    for (const key of below) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
    if (value === undefined) throw new Refused(404)
    return below.length === 0 && typeof value === 'string'
      ? { statuses: [200], text: value }
      : { statuses: [200], json: value }
  }

  #put(name: string, below: readonly string[], value: Json): void {
    requireName(name)
    if (below.length === 0) {
      if (value === null) throw new Refused(400)
      if (this.#list(name) !== null) throw new Refused(409)
      if (value === nothing) this.#stored.delete(name)
      else this.#stored.set(name, { value })
      return
    }
    const stored = this.#stored.get(name)
    const old = stored !== undefined && 'value' in stored ? stored.value : {}
    this.#stored.set(name, { value: merged(old, below, value) })
  }

  #delete(name: string, below: readonly string[], index: string | undefined): void {
    if (below.length === 0 && index !== undefined) throw new Refused(404)
    requireName(name)
    if (below.length === 0) {
      this.#stored.delete(name)
      return
    }
    const stored = this.#stored.get(name)
    if (stored === undefined || !('value' in stored)) throw new Refused(404)
    this.#stored.set(name, { value: without(stored.value, below) })
  }

  // A list

  #list(name: string): ListState | null {
    const stored = this.#stored.get(name)
    return stored !== undefined && 'list' in stored ? stored.list : null
  }

  #setList(name: string, list: ListState): void {
    this.#stored.set(name, { list })
  }

  #putItem(name: string, list: ListState, below: readonly string[], index: string | undefined, value: Json): void {
    if (below.length > 1) throw new Refused(409)
    const at = position(below[0] ?? index ?? '')
    if (at < 0 || value === null) throw new Refused(400)
    if (at > list.items.length) throw new Refused(404)
    this.#setList(name, { ...list, items: withItem(list.items, at, value) })
  }

  #items(name: string, request: Request): Expected {
    const list = this.#list(name)
    if (request.method === 'GET') {
      if (list === null) return this.#get(name, ['items'])
      return {
        statuses: [200],
        json: { items: list.items.map((item, index) => ({ index, item })), count: list.items.length },
      }
    }
    const { action, item_value, item_index } = request.json as {
      action: string
      item_value?: Json
      item_index?: Json
    }
    if (action !== 'delete' && (item_value === undefined || item_value === null)) throw new Refused(400)
    const at = action === 'add' ? 0 : positionOf(item_index)
    if (at < 0) throw new Refused(400)
    if (list === null) throw new Refused(404)
    if (action === 'add') {
      this.#setList(name, { ...list, items: [...list.items, item_value ?? null] })
      return { statuses: [201], json: { success: true, index: list.items.length } }
    }
    if (at >= list.items.length) throw new Refused(400)
    const items = action === 'delete' ? list.items.toSpliced(at, 1) : list.items.with(at, item_value ?? null)
    this.#setList(name, { ...list, items })
    return { statuses: [204] }
  }

  #metadata(name: string, request: Request): Expected {
    const list = this.#list(name)
    if (request.method === 'GET') {
      if (list === null) return this.#get(name, ['metadata'])
      // The model has no times. The listing checks description and explanation.
      return { statuses: [200] }
    }
    if (list === null) throw new Refused(404)
    this.#setList(name, { ...list, ...(request.json as Partial<ListState>) })
    return { statuses: [204] }
  }

  // Everything

  #all(request: Request): Expected {
    if (request.method === 'GET') return { statuses: [200], json: this.everything }
    if (request.method === 'DELETE') {
      this.#stored.clear()
      return { statuses: [204] }
    }
    const entries = Object.entries(request.json as Readonly<Record<string, Json>>)
    if (entries.length === 0 && request.method === 'POST') throw new Refused(400)
    for (const [name, given] of entries) checkEntry(name, given)
    const wrong = new Set<number>()
    const echo: Record<string, Json> = {}
    for (const [name, given] of entries) {
      try {
        set(echo, name, this.#entry(name, given))
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        for (const status of error.statuses) wrong.add(status)
      }
    }
    if (wrong.size > 0) throw new Refused(...wrong)
    return request.method === 'POST' ? { statuses: [201], json: echo } : { statuses: [204] }
  }

  #entry(name: string, given: Json): Json {
    const list = this.#list(name)
    if (isObject(given) && given['_type'] === 'list') {
      if (list === null && this.#stored.has(name)) throw new Refused(409)
      const { description, explanation } = given as { description?: string; explanation?: string }
      this.#setList(name, {
        items: list?.items ?? [],
        description: description ?? list?.description ?? '',
        explanation: explanation ?? list?.explanation ?? '',
      })
      return '[Empty list property created]'
    }
    if (isObject(given) && Object.hasOwn(given, 'items')) {
      const entries = given['items'] as readonly { readonly [key: string]: Json }[]
      if (entries.length === 0) return '[No items to update]'
      if (list === null) throw new Refused(400)
      return this.#batch(name, list, entries)
    }
    if (list !== null) throw new Refused(409)
    if (given === nothing) this.#stored.delete(name)
    else this.#stored.set(name, { value: given })
    return given
  }

  /** Applies updates in order, then deletions from the highest index down. Indices are from before the batch. */
  #batch(name: string, list: ListState, entries: readonly { readonly [key: string]: Json }[]): string {
    const items = [...list.items]
    const gone = new Set<number>()
    let updates = 0
    for (const { index, ...fields } of entries) {
      const at = positionOf(index)
      if (Object.keys(fields).length === 0) continue
      if (at > items.length) throw new Refused(400)
      items[at] = fields
      updates++
    }
    for (const entry of entries) {
      const at = positionOf(entry['index'])
      if (Object.keys(entry).length === 1 && at < items.length) gone.add(at)
    }
    for (const at of [...gone].sort((a, b) => b - a)) items.splice(at, 1)
    this.#setList(name, { ...list, items })
    return `[Bulk update: ${updates} items updated, ${gone.size} items deleted]`
  }
}

/** Rejects entries of a body that are invalid independently of the stored data. */
function checkEntry(name: string, given: Json): void {
  requireName(name)
  if (given === null) throw new Refused(400)
  if (!isObject(given)) return
  if (given['_type'] === 'list') {
    if (name.startsWith('_') || name.includes('#')) throw new Refused(400)
  } else if (Object.hasOwn(given, 'items')) {
    const { items } = given
    if (!Array.isArray(items)) throw new Refused(400)
    for (const entry of items as readonly Json[]) {
      if (!isObject(entry) || positionOf(entry['index']) < 0) throw new Refused(400)
    }
  }
}

function requireName(name: string): void {
  if (name.startsWith('list:') || name.includes('/') || name === '') throw new Refused(400)
}

function getFromList(list: ListState, below: readonly string[], index: string | undefined): Expected {
  const wanted = below[0] ?? index
  if (wanted === undefined) return { statuses: [200], json: list.items }
  const at = below.length === 0 && /^-\d+$/.test(wanted) ? list.items.length + Number(wanted) : position(wanted)
  const item = below.length > 1 ? undefined : list.items[at]
  if (item === undefined) throw new Refused(404)
  return { statuses: [200], json: item }
}

function fullList({ items, description, explanation }: ListState): Json {
  return { _list: true, count: items.length, description, explanation, items }
}

function withItem(items: readonly Json[], at: number, value: Json): readonly Json[] {
  return at === items.length ? [...items, value] : items.with(at, value)
}

/** Merges objects key by key, and rejects a write below a value that is not an object. */
function merged(old: Json, below: readonly string[], value: Json): Json {
  const [key, ...deeper] = below
  if (key === undefined) {
    if (!isObject(old) || !isObject(value)) return value
    const both: Record<string, Json> = { ...old }
    for (const [name, inner] of Object.entries(value)) {
      const before = both[name]
      set(both, name, before !== undefined && Object.hasOwn(both, name) ? merged(before, [], inner) : inner)
    }
    return both
  }
  if (!isObject(old)) throw new Refused(409)
  const inner = Object.hasOwn(old, key) ? old[key] : undefined
  const written = inner === undefined ? wrapped(deeper, value) : merged(inner, deeper, value)
  return set({ ...old }, key, written)
}

function wrapped(below: readonly string[], value: Json): Json {
  return below.reduceRight<Json>((inner, key) => set({}, key, inner), value)
}

function without(old: Json, below: readonly string[]): Json {
  const [key = '', ...deeper] = below
  if (!isObject(old) || !Object.hasOwn(old, key)) throw new Refused(404)
  const { [key]: inner = null, ...rest } = old
  return deeper.length === 0 ? rest : set({ ...old }, key, without(inner, deeper))
}

/** Sets an own key, even with a name such as `__proto__`. */
function set(object: Record<string, Json>, key: string, value: Json): Record<string, Json> {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  return object
}

function isObject(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses a text body that is JSON. A missing body is the empty string. */
function bodyOf({ json, text }: Request): Json {
  if (json !== undefined) return json
  try {
    return JSON.parse(text ?? '') as Json
  } catch {
    return text ?? nothing
  }
}

/** Parses a list position. Returns -1 for an invalid one. */
function position(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : -1
}

function positionOf(value: Json | undefined): number {
  if (typeof value === 'string') return position(value)
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : -1
}
