/** Renders a value: strings unchanged, objects and arrays as an indented tree. */
import { html } from 'hono/html'
import type { ValueTree } from './value-tree.ts'
import type { Html } from './values.ts'

export function valueView(tree: ValueTree): Html {
  return html`<div class="value">${part(tree, true)}</div>`
}

function part(tree: ValueTree, isOutermost = false): Html {
  switch (tree.kind) {
    case 'text':
      return tree.text === ''
        ? html`<span class="kind">empty</span>`
        : html`<span class="value-text">${tree.text}</span>`
    case 'number':
    case 'word':
      return html`<span class="value-${tree.kind}">${tree.text}</span>`
    case 'object': {
      const rows = tree.members.map(
        ({ name, value }) => html`<li><span class="key">${name}:</span> ${part(value)}</li>`,
      )
      return branch(rows, tree.more, 'an object without parts', isOutermost)
    }
    case 'array': {
      const rows = tree.elements.map((value) => html`<li>${part(value)}</li>`)
      return branch(rows, tree.more, 'an empty array', isOutermost)
    }
    default:
      return tree satisfies never
  }
}

function branch(rows: readonly Html[], more: number, empty: string, isOutermost: boolean): Html {
  if (rows.length === 0 && more === 0) return html`<span class="kind">${empty}</span>`
  const rest = more === 0 ? '' : html`<li class="fine">… ${more} more, not shown here</li>`
  return html`<ul${isOutermost ? html` class="tree"` : ''}>${rows}${rest}</ul>`
}
