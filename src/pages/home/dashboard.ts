/** View of `/<actor>/www`: the overview of an actor. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { openRequests } from '../shared/counts.ts'
import { copyButton } from '../shared/forms.ts'
import { icon, type IconName } from '../shared/icons.ts'
import { actorPage, following, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'
import { accessMap, accessTable } from './access-map.ts'
import { activityChart } from './activity-chart.ts'
import { checklist } from './first-steps.ts'
import { overviewStyle } from './style.ts'
import type { DashboardValues } from './values.ts'

export function dashboardPage(values: DashboardValues, context: PageContext): Html {
  const { actor_www } = values
  const { home, navigation } = context.messages
  return actorPage(
    values,
    {
      ...context,
      title: navigation.overview,
      section: '',
      styles: [overviewStyle],
    },
    html`
<div class="head"><h1>${navigation.overview}</h1>
<p class="actions"><a class="button quiet" href="${actor_www}/trust/new">${icon('people')} ${home.connect}</a><a class="button" href="${actor_www}/properties#new">${icon('plus')} ${home.newProperty}</a></p></div>
${following('glance', ['properties', 'trust', 'approvals', 'sessions', 'subscriptions'], glance(values, context))}`,
  )
}

function glance(values: DashboardValues, context: PageContext): Html {
  const { messages } = context
  return html`<div class="grid">
${newDevices(values, messages)}${requests(values, messages)}
${delivery(values, messages)}
${tiles(values, messages)}
${values.access_map === null ? checklist(values, context) : whoCanAccess(values, messages)}
<div class="slim">${activity(values, messages)}
${address(values, messages)}</div>
</div>`
}

function newDevices({ new_devices: devices, actor_www }: DashboardValues, { home: words }: Messages): Html[] {
  return devices.map(
    ({ device, began }) =>
      html`<p class="warning">${words.newDevice(device, momentView(began))} <a href="${actor_www}/apps#sessions">${words.newDeviceLink}</a></p>
`,
  )
}

function requests(values: DashboardValues, { home: words }: Messages): Html {
  const open = openRequests(values)
  return html`<section class="card wide${open === 0 ? '' : ' urgent'}" aria-labelledby="waits">
${cardHead('requests', 'waits', words.requestsTitle, open === 0 ? '' : html`<span class="badge warn">${words.waiting(open)}</span>`)}
${
  open === 0
    ? html`<p class="fine">${words.nothingWaits}</p>`
    : html`<ul class="plain short">${values.waiting.map(({ text, href }) => html`<li><a href="${href}">${text}</a></li>`)}</ul><p class="fine"><a href="${values.actor_www}/requests">${words.requestsLink}</a></p>`
}</section>`
}

function delivery(values: DashboardValues, { home: words }: Messages): Html {
  const { undelivered, subscriber_count } = values
  const sentence = subscriber_count === 0 ? words.noSubscribers : words.allDelivered(subscriber_count)
  return html`<section class="card slim" aria-labelledby="delivery">
${cardHead('subscriptions', 'delivery', words.delivery, undelivered.length === 0 ? '' : html`<span class="badge bad">${words.failing(undelivered.length)}</span>`)}
${
  undelivered.length === 0
    ? html`<p>${sentence}</p>`
    : html`<ul class="plain short">${undelivered.map(({ text, href }) => html`<li><a href="${href}">${text}</a></li>`)}</ul>`
}
<p class="fine"><a href="${values.actor_www}/subscriptions">${words.deliveryLink}</a></p></section>`
}

function cardHead(picture: IconName, id: string, title: string, extra: Html | string = ''): Html {
  return html`<div class="card-head"><h2 id="${id}">${icon(picture)} ${title}</h2>${extra}</div>`
}

function tiles(values: DashboardValues, { home: words, navigation, devices }: Messages): Html {
  const { property_count, list_count, relationship_count, waiting_count, app_count, app_last_used } = values
  const { actor_www } = values
  const pending = waiting_count === 0 ? words.noRequests : html`<b>${words.requests(waiting_count)}</b>`
  return html`<ul class="tiles">
${tile('properties', `${actor_www}/properties`, [navigation.properties, property_count + list_count, words.lists(list_count)])}
${tile('people', `${actor_www}/trust`, [navigation.connections, relationship_count, pending])}
${tile('apps', `${actor_www}/apps`, [navigation.apps, app_count, app_last_used === null ? words.noApps : words.appLastUsed(momentView(app_last_used))])}
${tile('devices', `${actor_www}/apps`, [devices.title, values.device_count, values.device === null ? words.byPassphrase : words.thisDevice(values.device)])}
</ul>`
}

function tile(
  picture: IconName,
  href: string,
  [title, count, line]: readonly [title: string, count: number, line: Html | string],
): Html {
  return html`<li><a class="tile" href="${href}"><span>${icon(picture)} ${title}</span> <strong>${count}</strong> <small>${line}</small></a></li>`
}

function whoCanAccess(values: DashboardValues, { accessMap: words }: Messages): Html | string {
  const { access_map: map, direction, actor_www } = values
  if (map === null) return ''
  return html`<section class="card wide" aria-labelledby="access">
${cardHead('eye', 'access', words.title)}
<p class="fine">${words.legend}</p>
${accessMap(map, words, direction)}
${map.other_people === 0 ? '' : html`<p class="fine"><a href="${actor_www}/trust">${words.more(map.other_people)}</a></p>`}
${accessTable(map, words)}
<p class="fine">${words.text}</p></section>`
}

function activity({ activity: days, direction, actor_www }: DashboardValues, messages: Messages): Html {
  const { home: words } = messages
  const sum = (of: 'requests' | 'denied'): number => (days ?? []).reduce((total, day) => total + day[of], 0)
  const denied = sum('denied')
  return html`<section class="card" aria-labelledby="activity">
${cardHead('activity', 'activity', words.activity, denied === 0 ? '' : html`<span class="badge bad">${words.deniedCount(denied)}</span>`)}
${
  days === null
    ? html`<p class="fine">${messages.activity.off}</p>`
    : html`${activityChart(days, words, direction)}
<p class="fine">${words.requestCount(sum('requests'))} <a href="${actor_www}/activity">${words.activityLink}</a></p>`
}</section>`
}

function address(values: DashboardValues, messages: Messages): Html {
  const { home: words } = messages
  const { actor_www, actor_root, base_path, mcp_url } = values
  return html`<section class="card" aria-labelledby="address">
${cardHead('link', 'address', words.address)}
<p class="fine">${words.addressText}</p>
<dl class="facts">
${copyField('account-url', words.accountUrl, values.url.slice(0, -'/www'.length), messages)}
${mcp_url === '' ? '' : copyField('mcp-url', words.mcpUrl, mcp_url, messages)}
</dl>
<p class="fine"><a href="${base_path}/docs">${words.apiReference}</a> · <a href="${actor_root}/meta">${words.publicProfile}</a> · <a href="${actor_www}/init">${words.getStarted}</a></p>
</section>`
}

/** A text to select. */
function copyField(id: string, label: string, text: string, messages: Messages): Html {
  return html`<dt>${label}</dt><dd class="copy"><code id="${id}">${text}</code>${copyButton(id, label, messages)}</dd>`
}
