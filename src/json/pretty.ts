/** JSON for people to read and edit: a member a line, every value as it is written in the text. */
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
