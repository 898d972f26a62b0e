import { useEffect, useRef } from 'react'

export interface Question {
  readonly text: string
  /** The amount that the field begins with. */
  readonly amount?: number
  readonly save: (amount: number) => Promise<void>
}

/** Asks for an amount of money. */
export function AmountDialog({ text, amount, save, close }: Question & { readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} onClose={close}>
      <form
        action={async (fields) => {
          await save(Number(fields.get('amount')))
          dialog.current?.close()
        }}
      >
        <label>
          <span>{text}</span> <input name="amount" type="number" min="0" step="0.01" required defaultValue={amount} />
        </label>
        <button type="submit">Save</button>
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
      </form>
    </dialog>
  )
}
