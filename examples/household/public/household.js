/** The page of the household, at `/<actor>/app`. The browser sends the cookies of the session with each request. */
const find = (selector) => document.querySelector(selector)

/** Sends a request to the actor, and shows why it was refused. Without a session, the person signs in first. */
async function send(method, path, body, headers = {}) {
  const request = { method, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
  const response = await fetch(path, request)
  if (response.status === 401) location.replace(`../login?redirect=${location.pathname}`)
  find('[role=status]').textContent = response.ok ? '' : (await response.clone().json()).message
  return response
}

async function refresh() {
  const response = await send('POST', 'actions/show_household', {})
  if (!response.ok) return
  const { items, limit, spent } = await response.json()
  Object.assign(find('meter'), { max: limit, high: limit * 0.8, value: spent })
  find('#money span').textContent = `${spent.toFixed(2)} of ${limit.toFixed(2)} spent`
  find('ul').replaceChildren(...items.map(rowOf))
}

function rowOf({ id, owner, text, by }) {
  const [row, button, author] = ['li', 'button', 'small'].map((name) => document.createElement(name))
  const buy = (price) => send('POST', 'actions/buy', { id, owner, price })
  button.addEventListener('click', () => askFor(`Price of “${text}”`, '', buy))
  author.append(by)
  button.append(text, author)
  row.append(button)
  return row
}

/** Asks for an amount of money. */
function askFor(question, amount, save) {
  find('dialog span').textContent = question
  find('dialog input').value = amount
  find('dialog').showModal()
  answer = save
}
let answer
find('dialog form').addEventListener('submit', (event) => {
  if (event.submitter.value === 'save') answer(find('dialog input').valueAsNumber)
})

/** Changes the limit, unless another window changed it since this one read it. */
find('#money').addEventListener('click', async () => {
  const limit = await send('GET', 'properties/money/limit')
  const unchanged = { 'if-match': limit.headers.get('etag') }
  askFor('My budget', await limit.json(), (amount) => send('PUT', 'properties/money/limit', amount, unchanged))
})

find('#add').addEventListener('submit', async (event) => {
  event.preventDefault()
  if ((await send('POST', 'actions/add_item', { text: find('#add input').value })).ok) event.target.reset()
})

await refresh()
new EventSource('www/live').addEventListener('change', refresh)
