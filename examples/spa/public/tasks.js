/** The application: sign-in, and the list of tasks. */
import { base, providers, request, restore, signIn, signOut } from './session.js'

const element = (id) => document.getElementById(id)

function tell(text) {
  element('message').textContent = text
}

async function showSignIn() {
  history.replaceState(null, '', `${base}/login`)
  element('signed-in').hidden = true
  element('sign-out').hidden = true
  element('signed-out').hidden = false
  const buttons = (await providers()).map(({ name, displayName }) => {
    const button = document.createElement('button')
    button.textContent = `Continue with ${displayName}`
    button.addEventListener('click', () => signIn(name).catch((error) => tell(error.message)))
    const item = document.createElement('li')
    item.append(button)
    return item
  })
  element('providers').replaceChildren(...buttons)
}

async function showTasks() {
  const answer = await request('GET', '/properties/tasks/items')
  const { items } = answer.ok ? await answer.json() : { items: [] }
  const rows = items.map(({ index, item }) => {
    const row = document.createElement('li')
    const text = document.createElement('span')
    text.textContent = String(item.text)
    const done = document.createElement('button')
    done.textContent = 'Done'
    done.setAttribute('aria-label', `Done: ${item.text}`)
    done.addEventListener('click', async () => {
      const deleted = await request('DELETE', `/properties/tasks/${index}`)
      const said = deleted.ok ? 'Well done.' : (await deleted.json()).message
      await showTasks()
      tell(said)
    })
    row.append(text, done)
    return row
  })
  element('tasks').replaceChildren(...rows)
}

element('new-task').addEventListener('submit', async (event) => {
  event.preventDefault()
  const field = element('text')
  const answer = await request('POST', '/properties/tasks', { text: field.value })
  const said = answer.ok ? 'Added.' : (await answer.json()).message
  if (answer.ok) field.value = ''
  await showTasks()
  tell(said)
})

element('sign-out').addEventListener('click', async () => {
  await signOut()
  tell('You are signed out.')
  await showSignIn()
})

const session = await restore()
const refused = new URLSearchParams(location.search).get('error_description')
if (refused !== null) tell(refused)
if (session === null) await showSignIn()
else {
  history.replaceState(null, '', session.redirectUrl ?? `${base}/${session.actorId}/app`)
  element('signed-in').hidden = false
  element('sign-out').hidden = false
  await showTasks()
}
