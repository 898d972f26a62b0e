import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testing, type TestPerson } from 'troupe/testing'
import { z } from 'zod'
import household from './app.ts'

const Home = z.looseObject({ items: z.array(z.looseObject({ text: z.string() })) })
const homeOf = (person: TestPerson) => person.action('show_household', {}, Home)

it('shows a family one list, and sells each item to one person', async () => {
  await using t = await testing(household)
  const [ada, ben] = [await t.signIn('ada@example.com'), await t.signIn('ben@example.com')]
  await t.befriend(ben, ada, 'family')
  await ada.action('add_item', { text: 'Milk' })
  await t.settled()
  const [milk] = (await homeOf(ben)).items
  assert.equal(milk?.text, 'Milk')
  await ben.action('buy', { ...milk, price: 2.5 })
  await assert.rejects(ada.action('buy', { ...milk, price: 2.5 }), { status: 409, code: 'conflict' })
  await t.settled()
  for (const person of [ada, ben]) assert.deepEqual(await homeOf(person), { items: [], limit: 1000, spent: 2.5 })
})

it('changes a budget only in the window that has seen its current value', async () => {
  await using t = await testing(household)
  const ada = await t.signIn('ada@example.com')
  const seen = { 'if-match': (await ada.fetch('/properties/money/limit')).headers.get('etag') ?? '' }
  const change = (json: number) => ada.json('/properties/money/limit', { method: 'PUT', json, headers: seen })
  await change(300)
  await assert.rejects(change(200), { status: 412, code: 'precondition_failed' })
  assert.deepEqual(await ada.json('/properties/money'), { limit: 300, spent: 0 })
})

it('lets an assistant add items, and asks the owner before it forgets any', async () => {
  await using t = await testing(household)
  const ada = await t.signIn('ada@example.com')
  const assistant = await t.mcp(ada)
  await assistant.call('add_item', { text: 'Bread' })
  const [bread] = (await homeOf(ada)).items
  await ada.action('buy', { ...bread, price: 3 })
  assert.equal((await assistant.call('clear_bought')).isError, true)
  await t.approve(ada)
  assert.equal((await assistant.call('clear_bought')).isError, false)
  assert.deepEqual(await ada.json('/properties/items'), [])
})
