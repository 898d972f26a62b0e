/** Values: any JSON, stored in the row of the property. A name without a property counts as a value. */
import { absent } from '../json/absent.ts'
import { getAt } from '../json/json.ts'
import type { PropertyMethods } from './kind.ts'
import { propertyNotFound } from './property-errors.ts'
import { wholeValue } from './value-diff.ts'

export const valueKind: PropertyMethods = {
  description: 'A property of the actor',
  holdsItems: false,
  itemCount: () => 0,
  entry: ({ content }) => content,
  removal: (name) => wholeValue(name, absent),

  async read({ values, gate, versions }, access, property, { path }) {
    const shown = values.read(access, property, path)
    const json = shown instanceof Promise ? await shown : shown
    if (json === null) return null
    const version = (): string => {
      if (gate.hasNoHooks(access, 'get', property.name)) return versions.ofValue(access.actor.id, path, json)
      const stored = getAt(property.content, path.slice(1)) ?? json
      return versions.ofShown(versions.ofValue(access.actor.id, path, stored), json)
    }
    return { json, isWhole: path.length === 1, version }
  },

  async resource({ values }, access, property, { from }) {
    const json = from === null ? await values.read(access, property, [property.name]) : null
    return json === null ? null : { json, next: null }
  },

  async put({ values }, access, { path }, value) {
    // Only lists have an index.
    if (path.length === 1) throw propertyNotFound(path)
    await values.put(access, path, value)
  },

  async add({ values }, access, path, value) {
    return { value: await values.put(access, path, value, 'post'), position: null }
  },

  async remove({ values }, access, { path, index }, expected) {
    if (path.length === 1 && index !== undefined) throw propertyNotFound(path)
    return values.delete(access, path, { expected })
  },
}
