/** Renders a value: strings unchanged, objects and arrays as an indented tree. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import type { ValueTree } from './value-tree.ts'
import { visible } from './visible.ts'
import type { Html } from './values.ts'

type Words = Messages['values'] & Pick<Messages['forms'], 'numberText'>

export function valueView(tree: ValueTree, { values, forms: { numberText } }: Messages): Html {
  return html`<div class="value">${part(tree, { ...values, numberText }, { isOutermost: true })}</div>`
}

/** A value by which a person decides: with quotes around strings, because `"1"` and `1` are different values. */
export function quotedValueView(tree: ValueTree, { values }: Messages): Html {
  const words = { ...values, numberText: (json: string) => json }
  return html`<div class="value">${part(tree, words, { isOutermost: true, isQuoted: true })}</div>`
}

interface Look {
  readonly isOutermost?: boolean
  readonly isQuoted?: boolean
}

function part(tree: ValueTree, words: Words, { isOutermost = false, isQuoted = false }: Look): Html {
  switch (tree.kind) {
    case 'text':
      if (tree.text === '') return html`<span class="kind">${words.emptyText}</span>`
      return html`<span class="value-text">${isQuoted ? `"${tree.text}"` : tree.text}</span>`
    case 'number':
      return html`<span class="value-number">${words.numberText(tree.text)}</span>`
    case 'word':
      return html`<span class="value-word">${tree.text}</span>`
    case 'object': {
      const rows = tree.members.map(
        ({ name, value }) =>
          html`<li><span class="key">${visible(name)}:</span> ${part(value, words, { isQuoted })}</li>`,
      )
      return branch({ rows, more: tree.more, empty: words.emptyObject, isOutermost }, words)
    }
    case 'array': {
      const rows = tree.elements.map((value) => html`<li>${part(value, words, { isQuoted })}</li>`)
      return branch({ rows, more: tree.more, empty: words.emptyArray, isOutermost }, words)
    }
    default:
      return tree satisfies never
  }
}

interface Branch {
  readonly rows: readonly Html[]
  readonly more: number
  readonly empty: string
  readonly isOutermost: boolean
}

function branch({ rows, more, empty, isOutermost }: Branch, words: Words): Html {
  if (rows.length === 0 && more === 0) return html`<span class="kind">${empty}</span>`
  const rest = more === 0 ? '' : html`<li class="fine">${words.more(more)}</li>`
  return html`<ul${isOutermost ? html` class="tree"` : ''}>${rows}${rest}</ul>`
}
