import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from '../../src/index.ts'
import type { AuditEntry } from '../../src/audit-log/entry.ts'
import type { PageValues } from '../../src/pages.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { forEachService, type TestActor } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const entries: readonly (Partial<AuditEntry> & { readonly day: string })[] = [
  { day: '2026-11-20', caller: 'grace', path: '/properties/color' },
  { day: '2026-11-21', caller: 'grace', path: '/properties/color/shade', method: 'PUT' },
  { day: '2026-11-22', caller: 'grace', path: '/properties/colors', decision: 'refused', status: 403 },
  { day: '2026-11-23', caller: 'claude', callerKind: 'client', through: 'mcp', method: 'tools/call', path: '/pay' },
  { day: '2026-11-24', caller: 'claude', callerKind: 'client', path: '/actions/pay', decision: 'asked', status: 202 },
  { day: '2026-11-25', caller: 'claude', callerKind: 'client', path: '/actions/pay', decision: 'denied' },
  { day: '2026-11-26', caller: 'grace', path: '/files/a%20b.txt' },
  { day: '2026-11-27', caller: 'grace', path: '/subscriptions/x', method: 'POST' },
  { day: '2026-11-28', caller: '10.0.0.1', callerKind: 'anonymous', path: '/trust/friend', method: 'POST' },
  { day: '2026-11-29', caller: 'grace', path: '/meta' },
  { day: '2026-11-30', caller: 'grace', path: '/properties' },
]

const paths = entries.map(({ path }) => path)

forEachService((start) => {
  async function open() {
    const shown: PageValues<'activity'>[] = []
    let now = Date.parse('2026-11-01T00:00:00Z')
    const service = await start({
      activityPerActor: 5000,
      activityDays: 3650,
      now: () => now,
      timers: new ManualClock().timers,
      pages: { activity: (values) => (shown.unshift(values), html`activity`) },
    })
    const actor = await service.createActor()
    const browser = await OwnersBrowser.open(service, actor)
    const { parts, store } = await service.app.running()
    // The entry of this sign-in would be in every answer.
    await parts.auditLog.flush()
    await store.writeActor(actor.id, (tx) => tx.run('DELETE FROM activity WHERE actor_id = $1', actor.id))
    const record = async (all: readonly (Partial<AuditEntry> & { readonly day: string })[]): Promise<void> => {
      const before = now
      for (const [n, { day, ...entry }] of all.entries()) {
        if (n % 400 === 399) await parts.auditLog.flush()
        now = Date.parse(`${day}T12:00:00Z`)
        parts.auditLog.record({
          actorId: actor.id,
          callerKind: 'peer',
          caller: 'grace',
          through: 'http',
          method: 'GET',
          path: '/properties',
          decision: 'allowed',
          reason: 'a reason',
          status: 200,
          requestId: 'r1',
          ...entry,
        })
      }
      now = before
      await parts.auditLog.flush()
      await parts.auditLog.flush()
    }
    await record(entries)
    return { service, actor, browser, shown, record }
  }

  const pathsOf = async (actor: TestActor, query: string): Promise<string[]> => {
    const answer = await actor.request('GET', `/activity?limit=1000&${query}`)
    assert.equal(answer.status, 200, query)
    const { activity } = (await answer.json()) as { activity: { path: string }[] }
    return activity.map(({ path }) => path)
  }

  const filters: readonly (readonly [query: string, days: readonly number[]])[] = [
    ['outcome=allowed', [30, 29, 28, 27, 26, 23, 21, 20]],
    ['outcome=asked', [24]],
    ['outcome=denied', [25, 22]],
    ['kind=properties', [30, 22, 21, 20]],
    ['kind=files', [26]],
    ['kind=operations', [25, 24, 23]],
    ['kind=connections', [28]],
    ['kind=updates', [27]],
    ['kind=other', [29]],
    ['property=color', [21, 20]],
    ['property=colors', [22]],
    ['property=pay', []],
    ['caller=claude', [25, 24, 23]],
    ['caller=grace&kind=properties&outcome=allowed', [30, 21, 20]],
  ]

  describe('the filter of the activity', () => {
    it('takes a subject from a whole path segment with the same letters, on every store', async () => {
      const { actor, record } = await open()
      const similar = ['/FILES/x', '/filesystem', '/properties2', '/Trust']
      await record(similar.map((path, at) => ({ day: `2026-11-1${at + 1}`, path })))
      assert.deepEqual(await pathsOf(actor, 'kind=other&until=2026-11-20'), similar.toReversed())
      assert.deepEqual(await pathsOf(actor, 'kind=files&until=2026-11-20'), [])
    })

    it('groups the entries by day in the time zone of the reader (R-PAGE-22)', async () => {
      const { browser, shown } = await open()
      const dayOf = async (headers: Record<string, string>): Promise<unknown> => {
        assert.equal((await browser.get('/activity', headers)).status, 200)
        const [latest] = shown[0]?.days ?? []
        return [latest?.day, latest?.entries[0]?.at.exact]
      }
      assert.deepEqual(await dayOf({}), ['Monday, 30 November 2026', '30 Nov 2026, 12:00:00 UTC'])
      const { cookie } = browser.headers
      assert.deepEqual(await dayOf({ cookie: `${cookie}; troupe-time-zone=Pacific/Auckland` }), [
        'Tuesday, 1 December 2026',
        '1 Dec 2026, 01:00:00 GMT+13',
      ])
    })

    it('selects the same entries for the API, the application and the page (R-PAGE-22)', async () => {
      const { service, actor, browser, shown } = await open()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle)
      for (const [query, days] of filters) {
        const expected = days.map((day) => paths[day - 20])
        assert.deepEqual(await pathsOf(actor, query), expected, query)
        const page = await handle.activity(Object.fromEntries(new URLSearchParams(query)))
        assert.deepEqual(
          page.entries.map(({ path }) => path),
          expected,
          query,
        )
        await browser.get(`/activity?${query}`)
        assert.deepEqual(
          shown[0]?.entries.map(({ request }) => request.split(' ')[1]),
          expected,
          query,
        )
        assert.equal(shown[0]?.is_filtered, true)
      }
    })

    it('selects by time: the API from a moment and before one, the page by days (R-PAGE-22)', async () => {
      const { service, actor, browser, shown } = await open()
      assert.deepEqual(await pathsOf(actor, 'from=2026-11-29'), ['/properties', '/meta'])
      assert.deepEqual(await pathsOf(actor, 'from=2026-11-29T12:00:00.001Z'), ['/properties'])
      assert.deepEqual(await pathsOf(actor, 'from=2026-11-29T13:00:00%2B01:00&until=2026-11-30'), ['/meta'])
      assert.deepEqual(await pathsOf(actor, 'until=2026-11-21T12:00:00Z'), ['/properties/color'])
      const handle = await service.app.actors.get(actor.id)
      const page = await handle?.activity({ from: new Date('2026-11-30T00:00:00Z') })
      assert.equal(page?.entries.length, 1)
      await browser.get('/activity?from=2026-11-29&to=2026-11-29')
      assert.deepEqual(
        shown[0]?.entries.map(({ request }) => request),
        ['GET /meta 200'],
      )
    })

    it('is refused by the API when it is invalid, and the page ignores what its form cannot send (R-PAGE-22)', async () => {
      const { actor, browser, shown } = await open()
      for (const query of [
        'outcome=x',
        'kind=x',
        'from=yesterday',
        'from=2026-13-01',
        'from=2026-11-01T00:00',
        'until=1700000000000',
      ])
        assert.equal((await actor.request('GET', `/activity?${query}`)).status, 400, query)
      await browser.get('/activity?outcome=x&kind=x&from=x&to=2026-13-01&property=%20')
      const [values] = shown
      assert.equal(values?.entries.length, 11)
      assert.deepEqual(
        [values?.is_filtered, values?.filter],
        [false, { caller: '', outcome: '', kind: '', property: '', from: '', to: '' }],
      )
    })

    it('stays when the owner turns the page (R-PAGE-22)', async () => {
      const { actor, browser, shown, record } = await open()
      const many = Array.from({ length: 60 }, (_, n) => ({ day: '2026-12-01', path: `/files/f${n}`, method: 'PUT' }))
      await record(many)
      await browser.get('/activity?kind=files&caller=grace')
      const [first] = shown
      assert.equal(first?.newest_href, `/${actor.id}/www/activity?caller=grace&kind=files`)
      await browser.get((first?.older_href ?? '').slice(`/${actor.id}/www`.length))
      const [second] = shown
      assert.deepEqual([first?.entries.length, second?.entries.length], [50, 11])
      assert.equal(second?.entries.at(-1)?.request, 'GET /files/a%20b.txt 200')
      assert.deepEqual([second?.is_first, second?.older_href], [false, null])
    })
  })

  describe('the export of the activity', () => {
    it('is a CSV file of the entries that fit (R-PAGE-23)', async () => {
      const { actor, browser, shown } = await open()
      await browser.get('/activity?property=color')
      const address = `/${actor.id}/www/activity/export?property=color&format=csv`
      assert.equal(shown[0]?.export_links.csv, address)
      const answer = await browser.get(address.slice(`/${actor.id}/www`.length))
      assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8')
      assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="activity.csv"')
      assert.equal(
        await answer.text(),
        [
          'at,caller_kind,caller,through,method,path,decision,reason,status,times,device,request_id,caller_name',
          '2026-11-21T12:00:00.000Z,peer,grace,http,PUT,/properties/color/shade,allowed,a reason,200,1,,r1,',
          '2026-11-20T12:00:00.000Z,peer,grace,http,GET,/properties/color,allowed,a reason,200,1,,r1,',
          '',
        ].join('\r\n'),
      )
    })

    it('contains no cell that a spreadsheet calculates, and no broken row (R-PAGE-23)', async () => {
      const { browser, record } = await open()
      const callers = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', 'a,b', 'a"b', 'a\nb', '"=1"']
      await record(callers.map((caller) => ({ day: '2026-12-01', caller, method: 'PUT' })))
      const answer = await browser.get('/activity/export?format=csv&from=2026-12-01')
      const cells = (await answer.text())
        .split('\r\n')
        .slice(1, -1)
        .map((line) => /,peer,(.*),http,/s.exec(line)?.[1])
      assert.deepEqual(cells.toReversed(), [
        "'=1+1",
        "'+1",
        "'-1",
        "'@SUM(A1)",
        "'\t=1",
        '"a,b"',
        '"a""b"',
        '"a\nb"',
        '"""=1"""',
      ])
    })

    it('is a JSON file with the members of the API, however many entries there are (R-PAGE-23)', async () => {
      const { actor, browser, record } = await open()
      const many = Array.from({ length: 2100 }, (_, n) => ({ day: '2026-12-01', path: `/files/f${n}`, method: 'PUT' }))
      await record(many)
      const answer = await browser.get('/activity/export?format=json')
      assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="activity.json"')
      const { activity } = (await answer.json()) as { activity: { path: string }[] }
      assert.equal(activity.length, 2111)
      assert.equal(activity[0]?.path, '/files/f2099')
      const api = (await (await actor.request('GET', '/activity?limit=1')).json()) as { activity: object[] }
      assert.deepEqual(activity[0], api.activity[0])
      const none = await browser.get('/activity/export?format=json&caller=unknown')
      assert.deepEqual(await none.json(), { activity: [] })
    })

    it('is refused for an unknown format, and for everybody but the owner (R-PAGE-23)', async () => {
      const { service, actor, browser } = await open()
      for (const query of ['', '?format=xml'])
        assert.equal((await browser.get(`/activity/export${query}`)).status, 400, query)
      const other = await service.createActor('other@example.com')
      const { authorization } = other
      const address = `/${actor.id}/www/activity/export?format=csv`
      assert.equal((await service.request(address, { headers: { authorization } })).status, 403)
      assert.equal((await service.request(address)).status, 401)
    })
  })
})
