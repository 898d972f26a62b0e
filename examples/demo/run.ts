/**
 * `npm run demo`: a story of Ada and Ben, whose actors live at two services. It starts two processes on free ports, stores
 * their data in a temporary folder, and deletes it at the end.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { commandOptions } from '../../tools/command-options.ts'
import { Owner, until } from './owner.ts'
import { DemoService } from './service.ts'
import { say, tell } from './tell.ts'

const { values } = commandOptions({
  command: 'npm run demo',
  about: 'Plays a story of two owners of the household example, whose actors live at two services on two free ports.',
  options: {
    stay: { kind: 'flag', about: 'Keep both services running after the story, and show where to open their pages.' },
  },
})

const started = performance.now()
const [adas, bens] = [new DemoService('ada'), new DemoService('ben')]
const ending = (): void => {
  adas.remove()
  bens.remove()
  process.exit(1)
}
process.on('SIGINT', ending)
process.on('SIGTERM', ending)

try {
  await story()
  say(`The end, after ${((performance.now() - started) / 1000).toFixed(1)} seconds.`)
  if (values.stay) await stay()
} catch (error) {
  process.exitCode = 1
  console.error(error instanceof Error ? error.message : error)
} finally {
  adas.remove()
  bens.remove()
}

async function story(): Promise<void> {
  tell('Two services')
  await Promise.all([adas.start(), bens.start()])
  say(`Ada's service runs at ${adas.url}, in process ${adas.pid}.`)
  say(`Ben's service runs at ${bens.url}, in process ${bens.pid}.`)
  const [ada, ben] = [await Owner.create(adas, 'ada@example.com'), await Owner.create(bens, 'ben@example.com')]
  say(`Ada's actor lives at ${ada.url}.`)
  say(`Ben's actor lives at ${ben.url}.`)

  tell('Ada needs something')
  await ada.ask('POST', '/actions/add_item', { text: 'Milk' })
  await ada.ask('PUT', '/properties/money/limit', 300)
  say('Her list says milk, and her budget is 300.')

  tell('Family')
  await ben.ask('POST', '/trust', { url: ada.url, relationship: 'family', desc: 'Ben, from the second floor' })
  const secret = await ben.secretWith(ada)
  say('Ben asks Ada for a relationship. Both actors have proved who they are, and now share a secret.')
  const early = await fetch(`${ada.url}/properties/items`, { headers: { authorization: `Bearer ${secret}` } })
  say(`Ada has not answered yet. What does Ben get for her list? ${early.status}: nothing.`)
  await ada.ask('PUT', `/trust/family/${ben.id}`, { approved: true })
  await until('the first copy', async () => (await ben.home()).items.length === 1)
  say(`Ada approves. Each actor listens to the other now. Ben sees her list: ${await ben.shopping()}.`)
  await until('the money', async () => (await ben.home()).limit === 800)
  say('Both see one budget of 800: the 300 of Ada, and the 500 of Ben.')

  tell('A change arrives')
  const before = performance.now()
  await ada.ask('POST', '/actions/add_item', { text: 'Bread' })
  await until('the bread', async () => (await ben.home()).items.length === 2)
  say(`Ada adds bread. Ben sees it ${Math.ceil(performance.now() - before)} ms later.`)

  tell('Both buy the milk')
  const statuses = await Promise.all([ada.buy('Milk', 2), ben.buy('Milk', 2)])
  say(`They press the button at the same moment. The responses: ${statuses.join(' and ')}. One of them bought it.`)
  if (statuses.filter((status) => status < 300).length !== 1) throw new Error('The milk was not bought once.')
  await until('the price', async () => (await ada.home()).spent === 2 && (await ben.home()).spent === 2)
  say('Both see that 2 are spent, and that the milk is no longer on the list.')

  tell('Ben’s service stops, and comes back')
  await bens.stop()
  say('His service is killed in the middle of everything.')
  for (const text of ['Tea', 'Candles']) await ada.ask('POST', '/actions/add_item', { text })
  await ada.ask('PUT', '/properties/money/limit', 400)
  say('Ada continues: two items, and a new budget. Her service keeps what it cannot deliver to him now, in order.')
  await bens.start()
  await until('everything that was missed', async () => (await ben.home()).limit === 900)
  say(`Ben's service is back (process ${bens.pid}), and nothing is missing: ${await ben.shopping()}.`)
  const { data } = await ada.subscriptionOf(ben)
  const numbers = data.map(({ sequence, outcome }) => `${sequence} ${outcome}`).toReversed()
  say(`Ada's service recorded the outcome of each change: ${numbers.join(', ')}.`)

  tell('Ada changes her mind about the money')
  const rule = { patterns: ['*'], operations: ['read'], excluded_patterns: ['money', 'money/*'], merge: false }
  await ada.ask('PUT', `/trust/family/${ben.id}/permissions`, { properties: rule })
  await until('the money to go', async () => (await ben.home()).limit === 500)
  say('She closes it to Ben. His copy of it goes too: he sees his own budget of 500.')
  await ada.ask('PUT', '/properties/money/limit', 1000)
  await ada.ask('POST', '/actions/add_item', { text: 'A surprise' })
  await until('the surprise', async () => (await ben.shopping()).includes('surprise'))
  say(`She doubles her budget, and adds an item. Ben sees: ${await ben.shopping()}.`)
  if ((await ben.home()).limit !== 500) throw new Error('Ben sees the budget of Ada.')

  tell('The end of the relationship')
  await ada.ask('DELETE', `/trust/family/${ben.id}`)
  const late = await fetch(`${ada.url}/properties/items`, { headers: { authorization: `Bearer ${secret}` } })
  say(`Ada ends it. From that moment the secret opens nothing: ${late.status}.`)
  await until('Ben to be notified', async () => (await ben.trustIn(ada)) === undefined)
  await until('the copy to go', async () => (await ben.home()).items.length === 0)
  say('Ben is notified. His relationship, his subscription and his copy are gone.')
}

/** Keeps both services running until the person presses Ctrl+C, with the page of the household. */
async function stay(): Promise<void> {
  tell('Your turn')
  execFileSync(process.execPath, [...process.execArgv, join(import.meta.dirname, '..', 'household', 'build.ts')])
  say(`Open ${adas.url} and, in a private window, ${bens.url}. Sign in with any two addresses.`)
  say('Each person can ask the other for a relationship, with the address of the page without /app.')
  say('Ctrl+C stops both services and deletes their data.')
  await new Promise(() => {})
}
