/** Views of the state of the service, of failing deliveries, and of connected programs. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import type { PageContext } from '../shared/layout.ts'
import { restoredView } from '../activity/restored-data.ts'
import { momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'
import { operatorPage } from './operator-layout.ts'
import type {
  CountedName,
  FailingDeliveryRow,
  OperatorDeliveriesValues,
  OperatorProgramsValues,
  OperatorStatusValues,
  ProcessRow,
  SlowHostRow,
  StoppedWorkRow,
  WaitingWorkRow,
} from './values.ts'

type Words = Messages['operator']

export function statusPage(values: OperatorStatusValues, context: PageContext): Html {
  const { operator: words } = context.messages
  const { requests, failures, running, median, slowest, backlog, root } = values
  return operatorPage(
    values,
    { ...context, title: words.status, section: '' },
    html`
<h1>${words.status}</h1>
<p class="lead">${words.statusText}</p>
${values.restored === null ? '' : html`<p class="notice">${restoredView(values.restored, context.messages)}</p>`}
${findingsCard(values, words)}
<ul class="tiles">
<li><div class="tile"><span>${words.requests}</span><strong>${words.amount(requests)}</strong><small>${words.failures(failures)}</small></div></li>
<li><div class="tile"><span>${words.duration}</span><strong>${words.within(median)}</strong><small>${words.almostAll(slowest)}</small></div></li>
<li><a class="tile" href="${root}/deliveries"><span>${words.waiting}</span><strong>${words.amount(backlog)}</strong><small>${words.waitingText}</small></a></li>
<li><div class="tile"><span>${words.inProgress}</span><strong>${words.amount(running)}</strong><small>${words.inProgressText}</small></div></li></ul>
<section class="card" aria-labelledby="service"><h2 id="service">${words.service}</h2><dl class="facts">
<dt>${words.version}</dt><dd>${values.version}</dd>
<dt>${words.node}</dt><dd>${values.node}</dd>
<dt>${words.database}</dt><dd>${words.stores[values.store]}${values.is_sharded ? html` · ${words.sharded}` : ''}</dd>
${values.database_bytes === null ? '' : html`<dt>${words.databaseSize}</dt><dd>${words.size(values.database_bytes)}</dd>`}
${values.free_bytes === null ? '' : html`<dt>${words.freeSpace}</dt><dd>${words.size(values.free_bytes)}</dd>`}
<dt>${words.backup}</dt><dd>${values.backup === null ? (values.has_backups ? words.noBackup : words.backupsOff) : momentView(values.backup)}</dd>
<dt>${words.started}</dt><dd>${momentView(values.started)}</dd>
<dt>${words.memory}</dt><dd>${words.size(values.memory)}</dd></dl></section>
${failingTable(values, words)}
${slowTable(values.slow_hosts, words)}
${processTable(values.processes, words)}
${waitingTable(values.work, words)}
<section class="card" aria-labelledby="keys"><h2 id="keys">${words.keys}</h2>
<p>${words.currentKey(html`<code class="inline">${values.current_key}</code>`)}</p>
<p>${values.older_keys.length === 0 ? words.noOlderKeys : words.olderKeys(values.older_keys)}</p></section>
${counts('refusals', words.refusals, values.refusals, words.noRefusals, words)}
${counts('attempts', words.attempts, values.deliveries, words.noAttempts, words)}`,
  )
}

function findingsCard({ findings }: OperatorStatusValues, words: Words): Html {
  if (findings.length === 0) return html`<p class="notice">${words.noFindings}</p>`
  return html`<section class="card attention" aria-labelledby="findings"><h2 id="findings">${words.attention}</h2><ul>${findings.map((finding) => html`<li>${finding}</li>`)}</ul></section>`
}

function failingTable({ failing, root }: OperatorStatusValues, words: Words): Html {
  return html`<h2>${words.failing}</h2>
${failing.length === 0 ? html`<p class="empty">${words.noFailing}</p>` : html`${deliveryTable(failing, words)}<p><a href="${root}/deliveries">${words.allFailing}</a></p>`}`
}

function slowTable(hosts: readonly SlowHostRow[], words: Words): Html {
  const columns = words.slowColumns
  return html`<h2>${words.slow}</h2>
${
  hosts.length === 0
    ? html`<p class="empty">${words.noSlow}</p>`
    : html`<div class="table operated" role="region" aria-label="${words.slow}" tabindex="0"><table><thead><tr><th scope="col">${columns.host}</th><th scope="col">${columns.duration}</th><th scope="col">${columns.calls}</th></tr></thead>
<tbody>${hosts.map(
        ({ host, ms, calls }) =>
          html`<tr><th scope="row">${host}</th><td class="number">${words.within(Math.round(ms))}</td><td class="number">${words.amount(calls)}</td></tr>
`,
      )}</tbody></table></div>`
}`
}

function processTable(processes: readonly ProcessRow[], words: Words): Html {
  const columns = words.processColumns
  return html`<h2>${words.processes}</h2>
${
  processes.length === 0
    ? html`<p class="empty">${words.noProcesses}</p>`
    : html`<div class="table operated" role="region" aria-label="${words.processes}" tabindex="0"><table><thead><tr><th scope="col">${columns.host}</th><th scope="col">${columns.version}</th><th scope="col">${columns.started}</th><th scope="col">${columns.seen}</th></tr></thead>
<tbody>${processes.map(
        ({ host, version, started, seen, is_silent }) =>
          html`<tr><th scope="row">${host}</th><td>${version}</td><td>${momentView(started)}</td><td>${momentView(seen)}${is_silent ? html` · ${words.silent}` : ''}</td></tr>
`,
      )}</tbody></table></div>`
}
<p class="fine">${words.processesText}</p>`
}

function waitingTable(work: readonly WaitingWorkRow[], words: Words): Html {
  const columns = words.workColumns
  const kinds: Readonly<Record<string, string>> = words.kinds
  return html`<h2>${words.waitingWork}</h2>
${
  work.length === 0
    ? html`<p class="empty">${words.noWaitingWork}</p>`
    : html`<div class="table operated" role="region" aria-label="${words.waitingWork}" tabindex="0"><table><thead><tr><th scope="col">${columns.kind}</th><th scope="col">${columns.due}</th><th scope="col">${columns.failed}</th></tr></thead>
<tbody>${work.map(
        ({ kind, due, failed }) =>
          html`<tr><th scope="row">${kinds[kind] ?? kind}</th><td class="number">${words.amount(due)}</td><td class="number">${words.amount(failed)}</td></tr>
`,
      )}</tbody></table></div>`
}`
}

function counts(id: string, title: string, all: readonly CountedName[], none: string, words: Words): Html {
  return html`<section class="card" aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
${all.length === 0 ? html`<p>${none}</p>` : html`<dl class="facts">${all.map(({ name, count }) => html`<dt>${name}</dt><dd>${words.amount(count)}</dd>`)}</dl>`}</section>`
}

export function deliveriesPage(values: OperatorDeliveriesValues, context: PageContext): Html {
  const { operator: words } = context.messages
  const { deliveries, work, is_cut } = values
  return operatorPage(
    values,
    { ...context, title: words.deliveries, section: '/deliveries' },
    html`
<h1>${words.deliveries}</h1>
<p class="lead">${words.deliveriesText}</p>
<h2>${words.updates}</h2>
${deliveries.length === 0 ? html`<p class="empty">${words.noFailing}</p>` : deliveryTable(deliveries, words)}
<h2>${words.work}</h2>
${work.length === 0 ? html`<p class="empty">${words.noStopped}</p>` : workTable(work, words)}
${is_cut ? html`<p class="fine">${words.moreFailing}</p>` : ''}`,
  )
}

function deliveryTable(deliveries: readonly FailingDeliveryRow[], words: Words): Html {
  const columns = words.deliveryColumns
  return html`<div class="table operated" role="region" aria-label="${words.updates}" tabindex="0"><table><thead><tr><th scope="col">${columns.actor}</th><th scope="col">${columns.peer}</th><th scope="col">${columns.state}</th><th scope="col">${columns.since}</th><th scope="col">${columns.attempts}</th><th scope="col">${columns.reason}</th></tr></thead>
<tbody>${deliveries.map(
    ({ actor, actor_href, host, is_stopped, since, attempts, reason }) =>
      html`<tr><th scope="row"><a href="${actor_href}">${actor}</a></th><td>${host}</td><td>${is_stopped ? words.stopped : words.retrying}</td><td>${since === null ? '' : momentView(since)}</td><td class="number">${words.amount(attempts)}</td><td>${reason}</td></tr>
`,
  )}</tbody></table></div>`
}

function workTable(work: readonly StoppedWorkRow[], words: Words): Html {
  const columns = words.deliveryColumns
  const kinds: Readonly<Record<string, string>> = words.kinds
  return html`<div class="table operated" role="region" aria-label="${words.work}" tabindex="0"><table><thead><tr><th scope="col">${columns.actor}</th><th scope="col">${columns.kind}</th><th scope="col">${columns.since}</th></tr></thead>
<tbody>${work.map(
    ({ actor, actor_href, kind, since }) =>
      html`<tr><th scope="row"><a href="${actor_href}">${actor}</a></th><td>${kinds[kind] ?? kind}</td><td>${since === null ? '' : momentView(since)}</td></tr>
`,
  )}</tbody></table></div>`
}

export function programsPage(values: OperatorProgramsValues, context: PageContext): Html {
  const { operator: words, forms } = context.messages
  const { programs, next_href, is_first, root } = values
  const columns = words.programColumns
  return operatorPage(
    values,
    { ...context, title: words.programs, section: '/apps' },
    html`
<h1>${words.programs}</h1>
<p class="lead">${words.programsText}</p>
${
  programs.length === 0
    ? html`<p class="empty">${words.noPrograms}</p>`
    : html`<div class="table operated" role="region" aria-label="${words.programs}" tabindex="0"><table><thead><tr><th scope="col">${columns.program}</th><th scope="col">${columns.connections}</th><th scope="col">${columns.lastUsed}</th></tr></thead>
<tbody>${programs.map(
        ({ name, client_id, connections, last_used }) =>
          html`<tr><th scope="row">${name}<small>${client_id}</small></th><td class="number">${words.amount(connections)}</td><td>${momentView(last_used)}</td></tr>
`,
      )}</tbody></table></div>`
}
${
  next_href === null && is_first
    ? ''
    : html`<nav class="pager" aria-label="${forms.pages}">${is_first ? html`<span></span>` : html`<a href="${root}/apps" rel="first">${words.first}</a>`}${next_href === null ? html`<span></span>` : html`<a href="${next_href}" rel="next">${forms.next}</a>`}</nav>`
}`,
  )
}
