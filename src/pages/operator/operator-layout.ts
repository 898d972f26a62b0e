/** The layout of the pages of operators. */
import { html } from 'hono/html'
import { listingStyle } from '../listing/style.ts'
import { icon, type IconName } from '../shared/icons.ts'
import { brand, type PageContext, shell } from '../shared/layout.ts'
import type { Messages } from '../languages/language.ts'
import type { Html } from '../shared/values.ts'
import { operatorStyle } from './style.ts'
import type { OperatorPageValues } from './values.ts'

type OperatorSection = '' | '/actors' | '/deliveries' | '/apps' | '/operators'

const sections: readonly {
  readonly path: OperatorSection
  readonly label: 'status' | 'actors' | 'deliveries' | 'programs' | 'team'
  readonly icon: IconName
}[] = [
  { path: '', label: 'status', icon: 'activity' },
  { path: '/actors', label: 'actors', icon: 'people' },
  { path: '/deliveries', label: 'deliveries', icon: 'subscriptions' },
  { path: '/apps', label: 'programs', icon: 'apps' },
  { path: '/operators', label: 'team', icon: 'key' },
]

interface OperatorFrame extends PageContext {
  readonly title: string
  readonly section: OperatorSection
  /** True for a page below the section. */
  readonly isBelow?: boolean
}

/** Renders a page of operators. `content` begins with its `h1`. */
export function operatorPage(values: OperatorPageValues, frame: OperatorFrame, content: Html): Html {
  const { messages, title } = frame
  const { operator: words } = messages
  return shell(
    { ...values, title: words.windowTitle(title), messages, styles: [listingStyle, operatorStyle] },
    html`<div class="shell">
<header class="side">${brand(values, values.root)}
${navigation(values, frame, messages)}
<div class="owner"><span class="who">${values.operator}</span> <a href="${values.own_www}">${words.ownPages}</a></div></header>
<main id="content" tabindex="-1">
<div aria-live="polite">${values.notice === null ? '' : html`<p class="notice" role="status" tabindex="-1" autofocus>${values.notice}</p>`}</div>
${content}
</main>
</div>`,
  )
}

function navigation(
  { root }: OperatorPageValues,
  { section, isBelow = false }: OperatorFrame,
  { frame, operator: words }: Messages,
): Html {
  return html`<nav class="sections" aria-label="${frame.navigation}"><ul>
${sections.map(
  (each) =>
    html`<li><a href="${root}${each.path}"${each.path === section ? html` aria-current="${isBelow ? 'true' : 'page'}"` : ''}>${icon(each.icon)}${words[each.label]}</a></li>`,
)}
</ul></nav>`
}
