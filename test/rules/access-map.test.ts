/* cspell:ignore محمد أحمد */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { accessMap, accessTable } from '../../src/pages/home/access-map.ts'
import { decideMap, type MapProperty, type MapSubject } from '../../src/pages/home/access.ts'
import { activityChart } from '../../src/pages/home/activity-chart.ts'
import { fitText } from '../../src/pages/home/fit-text.ts'
import type { AccessMapValues, MapPerson, MapPlace } from '../../src/pages/home/values.ts'
import { english } from '../../src/pages/languages/english.ts'
import type { Judge } from '../../src/authorization-server/apps/current-access.ts'

const { accessMap: words, home } = english.messages(english.noun)

const ada: MapPerson = {
  peerid: 'a1',
  name: 'Ada',
  detail: 'Friend · one.example',
  href: '/x/www/trust/a1',
  is_app: false,
}
const app: MapPerson = { peerid: 'b7', name: 'Claude', detail: 'AI client', href: '/x/www/trust/b7', is_app: true }
const notes: MapPlace = { kind: 'property', name: 'notes', detail: 'List · 3 items', href: '/x/www/properties/notes' }
const calls: MapPlace = { kind: 'calls', name: 'Actions and tools', detail: 'add', href: '' }

const small: AccessMapValues = {
  people: [ada, app],
  other_people: 0,
  places: [notes, calls],
  access: [
    ['view', 'both'],
    ['none', 'ask'],
  ],
}

const drawn = async (map: AccessMapValues, direction: 'ltr' | 'rtl' = 'ltr'): Promise<string> =>
  String(await accessMap(map, words, direction))
const pathsOf = (svg: string): string[] => svg.match(/<path[^>]*>/g) ?? []

describe('the access map', () => {
  it('draws a ribbon for each access, with the classes of its kind, person and place', async () => {
    assert.deepEqual(pathsOf(await drawn(small)), [
      '<path class="view p0 t0" d="M197 41C320 41 320 41 443 41"/>',
      '<path class="run p0 t1" d="M197 38C320 38 320 84 443 84"/>',
      '<path class="ask p0 t1" d="M197 44C320 44 320 90 443 90"/>',
      '<path class="ask p1 t1" d="M197 87C320 87 320 87 443 87"/>',
    ])
  })

  it('places people at the start and data at the end, and mirrors both from right to left', async () => {
    const places = (svg: string): string[] =>
      [...svg.matchAll(/<(?:a|g) class="(\w\d)".*?transform="(.*?)"/g)].map(([, name, at]) => `${name} ${at}`)
    assert.deepEqual(places(await drawn(small)), [
      'p0 translate(1 22)',
      'p1 translate(1 68)',
      't0 translate(443 22)',
      't1 translate(443 68)',
    ])
    const mirrored = await drawn(small, 'rtl')
    assert.deepEqual(places(mirrored), [
      'p0 translate(443 22)',
      'p1 translate(443 68)',
      't0 translate(1 22)',
      't1 translate(1 68)',
    ])
    assert.equal(pathsOf(mirrored)[3], '<path class="ask p1 t1" d="M443 87C320 87 320 87 197 87"/>')
    assert.ok(mirrored.includes('<text class="name" x="158" y="16">Ada</text>'))
  })

  it('links people and properties to their pages, and shows the full name of a cut one as the title', async () => {
    const svg = await drawn(small)
    assert.deepEqual(svg.match(/href="[^"]*"/g), [
      'href="/x/www/trust/a1"',
      'href="/x/www/trust/b7"',
      'href="/x/www/properties/notes"',
    ])
    assert.ok(!svg.includes('<title>'))
    const long = { ...ada, name: 'Augusta Ada King, Countess of Lovelace' }
    const cut = await drawn({ ...small, people: [long, app] })
    assert.ok(cut.includes('<title>Augusta Ada King, Countess of Lovelace · Friend · one.example</title>'))
    assert.ok(cut.includes('<text class="name" x="38" y="16">Augusta Ada King, Co…</text>'))
  })

  it('escapes names, and shows right-to-left marks as the values contain them', async () => {
    const name = '<script>alert(1)</script> Ada[U+202E]'
    const svg = await drawn({ ...small, people: [{ ...ada, name, detail: '"&' }, app] })
    assert.ok(!svg.includes('<script>'))
    assert.ok(svg.includes('<title>&lt;script&gt;alert(1)&lt;/script&gt; Ada[U+202E] · &quot;&amp;</title>'))
    assert.ok(svg.includes('>&lt;script&gt;alert(1)&lt;/…</text> <text x="38" y="30">&quot;&amp;</text>'))
    const table = String(await accessTable({ ...small, places: [{ ...notes, name: '<b>' }, calls] }, words))
    assert.ok(!table.includes('<b>'))
  })

  it('has no script, style attribute or color besides those of the avatars', async () => {
    const svg = await drawn(small)
    assert.ok(!/style=|<script|stroke=/.test(svg))
    assert.deepEqual(svg.match(/fill="#\w+"/g), ['fill="#0f6670"', 'fill="#1d5590"'])
  })

  it('draws a map without anything', async () => {
    const svg = await drawn({ people: [], other_people: 0, places: [], access: [] })
    assert.ok(svg.includes('viewBox="0 0 640 22"'))
    assert.deepEqual(pathsOf(svg), [])
  })

  it('has the same content as a table', async () => {
    const table = String(await accessTable(small, words))
    const text = table.replaceAll(/<[^>]*>/g, '|').replaceAll(/\|[\s|]*/g, '|')
    assert.equal(
      text,
      '|Show as table|People and apps|notes|List · 3 items|Actions and tools|add|Ada|Friend · one.example|View|Run, some ask first|Claude|AI client|No access|Asks first|',
    )
  })
})

describe('a text in a box', () => {
  for (const [text, width, fitted] of [
    ['notes', 150, 'notes'],
    ['iiiiiiiiii', 40, 'iiiiiii…'],
    ['MMMMMMMMMM', 40, 'MM…'],
    ['a long name of a property', 80, 'a long nam…'],
    ['李小龍李小龍', 50, '李小…'],
    ['👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 40, '👩‍👩‍👧‍👦👩‍👩‍👧‍👦…'],
    ['محمد بن أحمد', 60, 'محمد ب…'],
    ['', 40, ''],
    ['abc', 0, '…'],
  ] as const) {
    it(`of ${width} units shows “${text}” as “${fitted}”`, () => assert.equal(fitText(text, width, 12), fitted))
  }
})

const property = (name: string): MapProperty => ({
  name,
  isList: false,
  hasParts: false,
  place: () => ({ kind: 'property', name, detail: '', href: name }),
})
const allows =
  (...granted: string[]): Judge =>
  ({ category, right, target, isPrefix }) => ({
    allowed: granted.includes(`${category} ${right} ${target}${isPrefix === true ? '*' : ''}`),
  })
const subject = (judge: Judge, ...names: string[]): MapSubject => ({
  judge,
  calls: names.map((name) => ({ category: 'actions', name, needsApproval: name.startsWith('ask') })),
})
const others = {
  rest: (count: number): MapPlace => ({ kind: 'rest', name: 'rest', detail: String(count), href: '' }),
  calls: null,
}

describe('the places of the access map', () => {
  it('are all properties when at most 8 exist, in their order', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    const { places, access } = await decideMap([subject(allows('properties read h'))], names.map(property), others)
    assert.deepEqual(
      places.map(({ name }) => name),
      names,
    )
    assert.deepEqual(access, [['none', 'none', 'none', 'none', 'none', 'none', 'none', 'view']])
  })

  it('are those with the most access when more exist, with the most access to any other property', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']
    const viewer = allows('properties read i', 'properties read a')
    const editor = allows(
      'properties write j',
      'properties read i',
      ...['b', 'c', 'd', 'e', 'f', 'g'].map((name) => `properties write ${name}`),
    )
    const { places, access } = await decideMap(
      [subject(viewer), subject(editor), subject(viewer)],
      names.map(property),
      others,
    )
    assert.deepEqual(
      places.map(({ name, detail }) => name + detail),
      ['i', 'a', 'b', 'c', 'd', 'e', 'f', 'rest3'],
    )
    assert.deepEqual(access, [
      ['view', 'view', 'none', 'none', 'none', 'none', 'none', 'none'],
      ['view', 'none', 'edit', 'edit', 'edit', 'edit', 'edit', 'edit'],
      ['view', 'view', 'none', 'none', 'none', 'none', 'none', 'none'],
    ])
  })

  it('show access to a part of a property, where the whole is not allowed', async () => {
    const value = { ...property('p'), hasParts: true }
    const list = { ...property('l'), isList: true }
    const judge = allows('properties read p/*', 'properties append l')
    assert.deepEqual((await decideMap([subject(judge)], [value, list, property('p')], others)).access, [
      ['part', 'part', 'none'],
    ])
  })

  it('show whether calls run or ask the owner first', async () => {
    const judge = allows('actions write run', 'actions write ask', 'actions write ask-again')
    const all = [
      subject(judge),
      subject(judge, 'run'),
      subject(judge, 'ask', 'ask-again'),
      subject(judge, 'run', 'ask', 'no'),
    ]
    const { access } = await decideMap(all, [], { ...others, calls })
    assert.deepEqual(access, [['none'], ['run'], ['ask'], ['both']])
  })

  it('decide at most 64 cells after the choice, for people with rights of their own', async () => {
    let asked = 0
    const judges = Array.from({ length: 8 }, (): Judge => () => (asked++, { allowed: true }))
    const names = Array.from({ length: 8 }, (_, index) => `p${index}`)
    await decideMap(
      judges.map((judge) => subject(judge)),
      names.map(property),
      others,
    )
    assert.equal(asked, 64)
  })

  it('are chosen once for people with equal rights', async () => {
    let asked = 0
    const judge: Judge = () => (asked++, { allowed: true })
    const names = Array.from({ length: 100 }, (_, index) => `p${index}`)
    await decideMap([subject(judge), subject(judge), subject(judge)], names.map(property), others)
    assert.equal(asked, 100)
  })
})

describe('the chart of the activity', () => {
  const days = [
    { day: '2026-11-21', words: '21 Nov 2026', requests: 10, denied: 5 },
    { day: '2026-11-22', words: '22 Nov 2026', requests: 0, denied: 0 },
    { day: '2026-11-23', words: '23 Nov 2026', requests: 1, denied: 1 },
    { day: '2026-11-24', words: '24 Nov 2026', requests: 40, denied: 0 },
  ]
  const barsOf = async (direction: 'ltr' | 'rtl'): Promise<string[]> =>
    String(await activityChart(days, home, direction)).match(/<rect[^>]*>/g) ?? []

  it('has a bar for each day with requests, and the denied ones in it', async () => {
    assert.deepEqual(await barsOf('ltr'), [
      '<rect x="0" y="48" width="64" height="16" rx="2"/>',
      '<rect class="denied" x="0" y="56" width="64" height="8" rx="2"/>',
      '<rect x="140" y="62" width="64" height="2" rx="2"/>',
      '<rect class="denied" x="140" y="62" width="64" height="2" rx="2"/>',
      '<rect x="210" y="0" width="64" height="64" rx="2"/>',
    ])
    assert.equal((await barsOf('rtl'))[0], '<rect x="210" y="48" width="64" height="16" rx="2"/>')
  })

  it('has a table with the same numbers for screen readers', async () => {
    const text = String(await activityChart(days, home, 'ltr'))
      .replaceAll(/<[^>]*>/g, '|')
      .replaceAll(/\|[\s|]*/g, '|')
    assert.ok(
      text.endsWith(
        '|Requests per day|Requests|Denied|21 Nov 2026|10|5|22 Nov 2026|0|0|23 Nov 2026|1|1|24 Nov 2026|40|0|',
      ),
    )
  })
})
