/** Formats JSON for people to read and edit: one member per line, with values as stored. */
import { elements, members } from './members.ts'
import type { JsonText } from './text.ts'

export function pretty(text: JsonText, indent = ''): string {
  const inside = `${indent}  `
  const named = members(text)
  if (named !== null) {
    const lines = [...named].map(([name, value]) => `${inside}${JSON.stringify(name)}: ${pretty(value, inside)}`)
    return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n${indent}}`
  }
  const lines = elements(text)?.map((value) => `${inside}${pretty(value, inside)}`)
  if (lines === undefined) return text
  return lines.length === 0 ? '[]' : `[\n${lines.join(',\n')}\n${indent}]`
}
