/** The application: sign-in, and the list of tasks. */
import { createClient } from './troupe-client.js'

/** Base URL of the service, derived from this file's location in `/assets`. */
const base = new URL('..', import.meta.url).href
const client = createClient({ url: base })
const tasks = client.list('tasks')
const find = (selector) => document.querySelector(selector)

/** Runs a change, and says how it ended. */
async function say(done, change) {
  try {
    await change()
    find('#message').textContent = done
  } catch (error) {
    find('#message').textContent = error.message
  }
}

function button(text, label, press) {
  const element = document.createElement('button')
  element.textContent = text
  element.setAttribute('aria-label', label)
  element.addEventListener('click', press)
  return element
}

function showTasks({ items, version }) {
  const rows = items.map(({ text }, index) => {
    const [row, words] = ['li', 'span'].map((name) => document.createElement(name))
    words.textContent = text
    // The index is of this version of the list. The service refuses it when the list has changed.
    const done = () => say('Well done.', () => tasks.delete(index, { ifVersion: version }))
    row.append(words, button('Done', `Done: ${text}`, done))
    return row
  })
  find('#tasks').replaceChildren(...rows)
}

/** Shows the part of the page that the session needs. */
async function showSession(session) {
  const isSignedIn = session.state === 'signed-in'
  find('#signed-in').hidden = !isSignedIn
  find('#sign-out').hidden = !isSignedIn
  find('#signed-out').hidden = isSignedIn
  find('#new-address').hidden = session.state !== 'email-required'
  if (session.reason !== undefined) find('#message').textContent = session.reason
  if (isSignedIn) return history.replaceState(null, '', `${base}${session.actorId}/app`)
  history.replaceState(null, '', `${base}login`)
  const buttons = (await client.providers()).map(({ name, displayName }) => {
    const text = `Continue with ${displayName}`
    return button(text, text, () => say('', () => client.signIn(name, { returnTo: `${base}login` })))
  })
  find('#providers').replaceChildren(...buttons)
}

find('#new-task').addEventListener('submit', async (event) => {
  event.preventDefault()
  await say('Added.', async () => {
    await tasks.append({ text: find('#text').value })
    event.target.reset()
  })
})
find('#new-address').addEventListener('submit', async (event) => {
  event.preventDefault()
  await say('', () => client.session.enter(find('#address').value))
})
find('#sign-out').addEventListener('click', () => say('You are signed out.', () => client.signOut()))

client.onSession(showSession)
tasks.live(showTasks)
await client.restore()
