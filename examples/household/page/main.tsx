/** The page of the household, at `/<actor>/app`. */
import { useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { createClient } from 'troupe/client'
import { useProperty, useSession, useWatched } from 'troupe/react'
import type * as household from '../app.ts'
import { AmountDialog, type Question } from './amount-dialog.tsx'

const client = createClient<typeof household>({ url: new URL('..', location.href).href, signIn: 'pages' })
/** The shopping and the money of the whole family. Each change of this actor, or of the copies of the others, reads it again. */
const home = client.watched(() => client.action('show_household'))

function Page() {
  const session = useSession(client)
  useEffect(() => {
    if (session.state === 'signed-out') void client.signIn()
  }, [session.state])
  if (session.state === 'unreachable') return <p role="alert">{session.reason}</p>
  return session.state === 'signed-in' ? <Household /> : null
}

function Household() {
  const { value, error } = useWatched(home)
  const { value: mine } = useProperty(client.property('money'))
  const [problem, setProblem] = useState('')
  const [question, setQuestion] = useState<Question | null>(null)

  async function run(change: () => Promise<unknown>) {
    try {
      await change()
      setProblem('')
    } catch (failure) {
      setProblem(failure instanceof Error ? failure.message : String(failure))
    }
  }

  async function add(fields: FormData) {
    const text = fields.get('text')
    if (typeof text === 'string') await run(() => client.action('add_item', { text }))
  }

  /** Changes the limit, unless another window changed it since this one showed it. */
  async function changeBudget(seen: number, limit: number) {
    await client.property('money').update((now) => {
      if (now.limit !== seen) throw new Error(`Nothing was changed: another window set the budget to ${now.limit}`)
      return { ...now, limit }
    })
  }

  if (value === undefined) return <p role="status">{error?.message}</p>
  const { items, limit, spent } = value
  const askForBudget = ({ limit: seen }: { readonly limit: number }) =>
    setQuestion({ text: 'My budget', amount: seen, save: (amount) => run(() => changeBudget(seen, amount)) })
  return (
    <main>
      <button type="button" disabled={mine === undefined} onClick={() => mine !== undefined && askForBudget(mine)}>
        {spent.toFixed(2)} of {limit.toFixed(2)} spent
        <meter max={limit} high={limit * 0.8} value={spent} />
        <small>Change my budget</small>
      </button>
      <ul>
        {items.map(({ id, owner, text, by }) => {
          const buy = (price: number) => run(() => client.action('buy', { id, owner, price }))
          return (
            <li key={id}>
              <button type="button" onClick={() => setQuestion({ text: `Price of “${text}”`, save: buy })}>
                {text} <small>{by}</small>
              </button>
            </li>
          )
        })}
      </ul>
      <p role="status">{problem || error?.message}</p>
      <form id="add" action={add}>
        <input
          name="text"
          aria-label="What do we need?"
          placeholder="What do we need?"
          required
          maxLength={200}
          autoComplete="off"
        />
        <button type="submit">Add</button>
      </form>
      {question !== null && <AmountDialog {...question} close={() => setQuestion(null)} />}
    </main>
  )
}

const page = document.querySelector('#page')
if (page !== null) createRoot(page).render(<Page />)
