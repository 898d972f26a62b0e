/**
 * `npm run demo`: a story of Alice and Bob, whose actors live at two services. It starts two processes on free ports, stores
 * their data in a temporary folder, and deletes it at the end.
 */
import { commandOptions } from '../../tools/command-options.ts'
import { Owner, until } from './owner.ts'
import { DemoService } from './service.ts'
import { say, tell } from './tell.ts'

commandOptions({
  command: 'npm run demo',
  about: 'Plays a story of two owners whose actors live at two services, on two free ports of this machine.',
  options: {},
})

const started = performance.now()
const [alices, bobs] = [new DemoService('alice'), new DemoService('bob')]
const ending = (): void => {
  alices.kill()
  bobs.kill()
  process.exit(1)
}
process.on('SIGINT', ending)
process.on('SIGTERM', ending)

try {
  await story()
  say(`The end, after ${((performance.now() - started) / 1000).toFixed(1)} seconds.`)
} catch (error) {
  process.exitCode = 1
  console.error(error instanceof Error ? error.message : error)
} finally {
  alices.remove()
  bobs.remove()
}

async function story(): Promise<void> {
  tell('Two services')
  await Promise.all([alices.start(), bobs.start()])
  say(`Alice's service runs at ${alices.url}, in process ${alices.pid}.`)
  say(`Bob's service runs at ${bobs.url}, in process ${bobs.pid}.`)
  const [alice, bob] = [await Owner.create(alices, 'alice@example.com'), await Owner.create(bobs, 'bob@example.com')]
  say(`Alice's actor lives at ${alice.url}.`)
  say(`Bob's actor lives at ${bob.url}.`)

  tell('Bob has something to show')
  await bob.ask('PUT', '/properties/mood', 'sunny')
  await bob.ask('PUT', '/properties/diary', { monday: 'slept long' })
  await bob.ask('POST', '/properties', { shopping: { _type: 'list' } })
  await bob.ask('POST', '/properties/shopping', 'bread')
  say('His mood is sunny, his diary has a page, and his shopping list says bread.')

  tell('Trust')
  await alice.ask('POST', '/trust', { url: bob.url, relationship: 'friend', desc: 'Alice, from the choir' })
  const secret = await alice.secretWith(bob)
  say('Alice asks Bob to be her friend. Both actors have proved who they are, and now share a secret.')
  const early = await fetch(`${bob.url}/properties/mood`, { headers: { authorization: `Bearer ${secret}` } })
  say(`Bob has not answered yet. What does Alice get for his mood? ${early.status}: nothing.`)
  await bob.ask('PUT', `/trust/friend/${alice.id}`, { approved: true })
  await until('the approval to reach Alice', async () => (await alice.trustIn(bob))?.peer_approved === true)
  const now = await fetch(`${bob.url}/properties/mood`, { headers: { authorization: `Bearer ${secret}` } })
  say(`Bob approves, and Alice is notified. What does she get now? ${now.status}: ${await now.text()}.`)

  tell('A subscription')
  await alice.ask('POST', '/subscriptions', { peerid: bob.id, target: 'properties', granularity: 'high' })
  await until('the first copy', async () => (await alice.seenOf(bob))['shopping'] !== undefined)
  say(`Alice listens to Bob. Her copy of what he shows: ${await alice.copyOf(bob)}`)

  tell('A change arrives')
  const before = performance.now()
  await bob.ask('PUT', '/properties/mood', 'cloudy')
  await until('the mood to change', async () => (await alice.seenOf(bob))['mood'] === 'cloudy')
  say(`Bob's mood turns cloudy. Alice has it ${Math.ceil(performance.now() - before)} ms later.`)

  tell('Alice’s service stops, and comes back')
  await alices.stop()
  say('Her service is killed in the middle of everything.')
  await bob.ask('PUT', '/properties/mood', 'stormy')
  await bob.ask('POST', '/properties/shopping', 'milk')
  await bob.ask('PUT', '/properties/diary/tuesday', 'rain all day')
  say('Bob continues: a mood, an item, a page. His service keeps what it cannot deliver to her now, in order.')
  await alices.start()
  await until('everything that was missed', async () =>
    JSON.stringify(await alice.seenOf(bob)).includes('rain all day'),
  )
  say(`Alice's service is back (process ${alices.pid}), and nothing is missing: ${await alice.copyOf(bob)}`)
  const { data } = await bob.subscriptionOf(alice)
  const numbers = data.map(({ sequence, outcome }) => `${sequence} ${outcome}`).toReversed()
  say(`Bob's service recorded the outcome of each change: ${numbers.join(', ')}.`)

  tell('Bob changes his mind about the diary')
  const rule = { patterns: ['*'], operations: ['read'], excluded_patterns: ['diary', 'diary/*'], merge: false }
  await bob.ask('PUT', `/trust/friend/${alice.id}/permissions`, { properties: rule })
  await until('the diary to go', async () => (await alice.seenOf(bob))['diary'] === undefined)
  say(`He closes it to Alice. Her copy of it goes too: ${await alice.copyOf(bob)}`)
  await bob.ask('PUT', '/properties/diary/wednesday', 'a secret')
  await bob.ask('PUT', '/properties/mood', 'relieved')
  await until('the mood', async () => (await alice.seenOf(bob))['mood'] === 'relieved')
  const isSecret = !JSON.stringify(await alice.seenOf(bob)).includes('secret')
  say(`He writes another page, and is relieved. Alice sees: ${await alice.copyOf(bob)}`)
  if (!isSecret) throw new Error('Alice sees the diary.')

  tell('The end of the relationship')
  await bob.ask('DELETE', `/trust/friend/${alice.id}`)
  const late = await fetch(`${bob.url}/properties/mood`, { headers: { authorization: `Bearer ${secret}` } })
  say(`Bob ends it. From that moment the secret opens nothing: ${late.status}.`)
  await until('Alice to be notified', async () => (await alice.trustIn(bob)) === undefined)
  say(`Alice is notified. Her relationship, her subscription and her copy are gone: ${await alice.copyOf(bob)}`)
}
