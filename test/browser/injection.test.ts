import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { desktop, openPage, type WatchedPage, unfold } from '../support/browser.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { payloads } from '../support/payloads.ts'
import { sqliteService, startService, type TestActor, type TestService } from '../support/service.ts'
import { signIn } from '../support/sessions.ts'
import { createTestDatabase } from '../support/stores.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'
import { until } from '../support/until.ts'
import { findTrust, updateTrust } from '../../src/trust/trust-store.ts'

const start = sqliteService()
let service: TestService
let actor: TestActor

/** The payloads as names of properties, where a slash is not allowed. */
const names = payloads.map((payload, index) => `${index}${payload.replaceAll('/', '∕')}`)
/** The pages show the hidden characters of a name as codes. */
const shownAs = (name: string): string =>
  name.replaceAll('\r\n', '\n').replaceAll('\u2028', '[U+2028]').replaceAll('\u0001', '[U+0001]')

before(async () => {
  assert.equal(new Set(payloads).size, 100)
  service = await start({
    listen: true,
    name: payloads[10] ?? '',
    description: payloads[11] ?? '',
    declare: (app) =>
      app.action(
        'draw',
        { description: payloads[12] ?? '', mcp: { title: payloads[13] ?? '', confirm: 'owner' } },
        () => ({}),
      ),
  })
  actor = await service.createActor(payloads[1] ?? '')
  const entries = (of: (payload: string) => unknown): Record<string, unknown> =>
    Object.fromEntries(names.map((name, index) => [name, of(payloads[index] ?? '')]))
  const write = async (body: unknown): Promise<void> => {
    const answer = await actor.request('POST', '/properties', body)
    assert.equal(answer.status, 201, await answer.text())
  }
  await write(entries((payload) => payload))
  await write({ tree: Object.fromEntries(payloads.map((payload) => [payload, [payload, { [payload]: payload }]])) })
  await write({ notes: { _type: 'list', description: payloads[20], explanation: payloads[21] } })
  await write({ notes: { items: payloads.map((payload, index) => ({ index, [payload]: payload })) } })
  await write({ texts: { _type: 'list' } })
  for (const payload of payloads.slice(0, 10)) await actor.request('POST', '/properties/texts', JSON.stringify(payload))
})

interface Scanner {
  readonly page: WatchedPage
  /** The payloads that ran although the page should show them as text. */
  readonly intrusions: string[]
}

/** Opens a browser without the Content-Security-Policy as second defense, so that any injected script runs. */
async function scanner(of: TestService, owner: TestActor): Promise<Scanner> {
  const page = await openPage({ viewport: desktop, bypassCSP: true })
  const intrusions: string[] = []
  page.on('dialog', (dialog) => {
    intrusions.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await page.exposeFunction('intrude', () => void intrusions.push(page.url()))
  await page.context().addCookies([{ name: 'oauth_token', value: await signIn(of, owner), url: of.url }])
  return { page, intrusions }
}

/** Elements, handlers and script URLs that no page of the service contains. */
const strange = `[...document.querySelectorAll('*')].flatMap((one) => {
  const name = one.tagName.toLowerCase()
  const known = /^(html|head|meta|title|link|body|header|a|img|div|span|form|input|button|nav|ul|ol|li|main|p|h1|h2|section|dl|dt|dd|code|pre|strong|small|b|details|summary|label|textarea|fieldset|legend|h3|q|time|select|optgroup|option|table|caption|thead|tbody|tr|th|td|br)$/
  const ofOurs = one.matches('svg.icon, svg.icon > path, svg.avatar, svg.avatar > :is(rect, text), svg.map, svg.map :is(clipPath, rect, text, path, g, title), svg.bars, svg.bars > :is(rect, path), svg.picture, svg.picture *, .badge > svg, .badge > svg *, head > script[type=module][src*="/assets/troupe."]:empty')
  const found = known.test(name) || ofOurs ? [] : [name]
  if (name === 'img' && !/\\/assets\\/troupe\\.[\\w-]{12}\\.svg$/.test(one.getAttribute('src'))) found.push('img ' + one.getAttribute('src'))
  for (const { name: attribute, value } of one.attributes) {
    if (/^on|^style$|^srcdoc$/.test(attribute)) found.push(name + ' ' + attribute)
    if (/^(href|src|action|formaction)$/.test(attribute) && !/^(https?:\\/\\/|\\/|#)/.test(value)) found.push(name + ' ' + attribute + '=' + value)
  }
  return found
})`

async function assertHarmless({ page, intrusions }: Scanner, what: string): Promise<void> {
  await page.evaluate(unfold)
  // Real time: waits for a task after the next frame, when the browser has reported the scripts that it blocked.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))')
  assert.deepEqual(await page.evaluate(strange), [], what)
  assert.deepEqual(intrusions, [], what)
  assert.deepEqual(
    page.complaints.filter((complaint) => !/the server responded with a status of 4/.test(complaint)),
    [],
    what,
  )
}

describe('a page with a hundred payloads that look like markup', () => {
  it('is checked by a scanner that detects scripts (WEB-01)', async () => {
    const { page, intrusions } = await scanner(service, actor)
    await page.setContent(`<body>${payloads[1]}${payloads[2]}<p onclick="x">`)
    await page.waitForFunction('document.readyState === "complete"')
    await until(() => intrusions.length > 0)
    assert.deepEqual(await page.evaluate(strange), [
      'img x',
      'img src=x',
      'img onerror',
      'svg',
      'svg onload',
      'p onclick',
    ])
  })

  it('shows names, values, keys, list items, descriptions, the creator and the name of the service as text (WEB-01)', async () => {
    const eye = await scanner(service, actor)
    for (const path of [
      '',
      '/init',
      '/properties',
      '/properties?page=2',
      '/properties/tree',
      '/properties/notes',
      '/properties/notes?page=2',
      '/properties/texts',
    ]) {
      await eye.page.goto(`${service.url}/${actor.id}/www${path}`)
      await assertHarmless(eye, path)
    }
    const shown: string[] = []
    for (const page of [1, 2]) {
      await eye.page.goto(`${service.url}/${actor.id}/www/properties?page=${page}`)
      shown.push(...(await eye.page.locator('.properties tbody th').allTextContents()))
    }
    assert.deepEqual(
      shown.map((name) => name.replaceAll('\r\n', '\n')).toSorted(),
      [...names, 'tree', 'notes', 'texts'].map(shownAs).toSorted(),
    )
    assert.equal(await eye.page.locator('.who').textContent(), payloads[1])
  })

  it('of each property shows that property, and is reached by its link (WEB-01)', async () => {
    const eye = await scanner(service, actor)
    for (const [index, name] of names.entries()) {
      if (index % 3 !== 0) continue
      await eye.page.goto(`${service.url}/${actor.id}/www/properties/${encodeURIComponent(name)}`)
      await assertHarmless(eye, name)
      const line = (text: string | null): string => (text ?? '').replaceAll(/\r\n?/g, '\n')
      assert.equal(line(await eye.page.getByRole('heading', { level: 1 }).textContent()), line(shownAs(name)))
      assert.equal(line(await eye.page.locator('.value').textContent()), line(payloads[index] ?? ''))
      assert.equal(line(await eye.page.locator('textarea').inputValue()), line(payloads[index] ?? ''))
    }
  })

  it('shows typed values, quoted errors and URL parts as text (WEB-01)', async () => {
    const eye = await scanner(service, actor)
    for (const [index, payload] of payloads.entries()) {
      if (index % 10 !== Math.floor(index / 10)) continue
      await eye.page.goto(`${service.url}/${actor.id}/www/properties`)
      await eye.page.locator('summary').first().click()
      const form = eye.page.locator('form', { has: eye.page.getByRole('button', { name: 'Create property' }) })
      await form.getByLabel('Name').fill(`${payload}/`)
      await form.getByRole('textbox', { name: 'Value' }).fill(payload)
      await form.getByLabel(index % 2 === 0 ? 'Text' : 'JSON', { exact: false }).check()
      await form.getByRole('button').click()
      await eye.page.getByRole('alert').waitFor()
      await assertHarmless(eye, payload)
      for (const address of [
        `/${actor.id}/www/properties?page=${encodeURIComponent(payload)}`,
        `/${actor.id}/www/${encodeURIComponent(payload.replaceAll('/', '∕'))}`,
        `/${actor.id}/www/properties/${encodeURIComponent(payload.replaceAll('/', '∕'))}`,
        `/login?error=${encodeURIComponent(payload)}`,
        `/${encodeURIComponent(payload.replaceAll('/', '∕'))}`,
      ]) {
        await eye.page.goto(service.url + address)
        await assertHarmless(eye, address)
      }
    }
  })

  it('shows trust texts, names of peers and clients, arguments of calls, patterns and activity as text (WEB-01)', async () => {
    const { parts, store } = await service.app.running()
    const owner = await service.createActor('relations@example.com')
    for (const [index, payload] of payloads.entries()) {
      if (index % 5 !== 0) continue
      const id = `p${index}`
      const asking = { baseuri: `https://peer.example.com/${id}`, id, desc: payload, type: payload }
      await owner.request('POST', '/trust/friend', asking)
    }
    const client = await authorizeClient(service, owner)
    const all = payloads.filter((payload) => !payload.includes('\0')).join('\n')
    await store.writeActor(owner.id, async (tx) => {
      const trust = await findTrust(tx, owner.id, client.peerId)
      assert.ok(trust)
      await updateTrust(
        tx,
        { ...trust, facts: { ...trust.facts, client_name: all, peer_identifier: all } },
        store.now(),
      )
    })
    await owner.request('PUT', `/trust/friend/${encodeURIComponent(client.peerId)}/permissions`, {
      properties: { patterns: payloads.filter((payload) => payload !== '').map((payload) => payload.slice(0, 1000)) },
      methods: { allowed: ['greet', ...payloads.slice(0, 20).filter((payload) => payload !== '')] },
    })
    await client.modern('tools/call', {
      name: 'draw',
      arguments: Object.fromEntries(payloads.map((text) => [text, [text]])),
    })
    await writtenAuditLog(service)
    const [approval] = await parts.approvals.waiting(owner.id)
    const eye = await scanner(service, owner)
    const peer = `/trust/${encodeURIComponent(client.peerId)}`
    for (const path of [
      '',
      '/trust',
      '/trust/p5',
      peer,
      `${peer}?edit=access`,
      `${peer}/view`,
      '/apps',
      '/requests',
      `/approvals/${approval?.approvalId}`,
      '/subscriptions',
      '/activity',
      ...payloads
        .filter((_, index) => index % 9 === 0)
        .flatMap((payload) => [
          `${peer}?ask=properties.read&target=${encodeURIComponent(payload)}`,
          `${peer}?ask=${encodeURIComponent(payload)}&target=x`,
          `/activity?caller=${encodeURIComponent(payload)}`,
          `/trust/${encodeURIComponent(payload.replaceAll('/', '∕'))}`,
        ]),
    ]) {
      await eye.page.goto(`${service.url}/${owner.id}/www${path}`)
      await assertHarmless(eye, path)
    }
    await eye.page.goto(`${service.url}/${owner.id}/www/approvals/${approval?.approvalId}`)
    assert.match((await eye.page.locator('.arguments').textContent()) ?? '', /<script>/)
    for (const payload of payloads.filter((_, index) => index % 9 === 4)) {
      await eye.page.goto(`${service.url}/${owner.id}/www/trust/new`)
      await eye.page.getByLabel('Their account URL').fill(payload)
      await eye.page.getByLabel('Message').fill(payload)
      await eye.page.getByRole('button', { name: 'Review request', exact: true }).click()
      await eye.page
        .getByRole('alert')
        .or(eye.page.getByRole('button', { name: 'Send request' }))
        .first()
        .waitFor()
      await assertHarmless(eye, payload)
    }
  })

  it('shows them as text also in application-defined templates (WEB-01)', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-pages-'))
    const text =
      '<body><p title="{{ value }}" lang=\'{{ value }}\'>{{ value }}</p><textarea>{{ value }}</textarea>{{ property }}'
    writeFileSync(join(folder, 'aw-actor-www-property.html'), text)
    const other = await createTestDatabase('sqlite')
    const templated = await startService(other.url, { listen: true, templates: folder })
    try {
      const owner = await templated.createActor()
      const eye = await scanner(templated, owner)
      for (const [index, payload] of payloads.entries()) {
        if (index % 4 !== 0) continue
        await owner.request('POST', '/properties', { [names[index] ?? '']: payload })
        await eye.page.goto(`${templated.url}/${owner.id}/www/properties/${encodeURIComponent(names[index] ?? '')}`)
        await assertHarmless(eye, payload)
        const line = (shown: string | null): string => (shown ?? '').replaceAll(/\r\n?/g, '\n')
        assert.equal(line(await eye.page.locator('p').getAttribute('title')), line(payload))
      }
    } finally {
      await templated.close()
      await other.remove()
      rmSync(folder, { recursive: true })
    }
  })
})
