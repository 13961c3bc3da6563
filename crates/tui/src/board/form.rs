//! The answer that the person is putting together, whatever the shape of the question.
//!
//! Every question becomes a list of rows, with the cursor on one of them: actions and options, creatures
//! that attack or block, amounts of a division. Keys move the cursor and change the row under it; a card
//! that is pointed at on the board is the row that it stands for. What is legal is the table's business: a
//! wrong answer comes back with its reason.

use marvin_table::{AnswerForm, ChoiceOption, CompactAnswer, Question};

/// Row of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FormRow {
    id: String,
    pub(super) label: String,
    /// Cards on the board that stand for it.
    cards: Vec<String>,
    targets: Vec<String>,
    /// Ids that it can be paired with: what it can attack or block.
    partners: Vec<String>,
}

/// What the rows are, and what was chosen so far.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    /// One row is the answer.
    One,
    /// Several rows; the order in which they were chosen counts where `is_order` says so.
    Several { chosen: Vec<usize>, min: usize, max: usize, is_order: bool },
    /// Rows with a partner or without.
    Pairs { partners: Vec<Option<usize>>, names: Vec<ChoiceOption>, is_attack: bool, held: Option<usize> },
    /// Rows with an amount.
    Amounts { amounts: Vec<i32>, minimums: Vec<i32>, total: i32 },
}

/// Row as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShownRow {
    /// Position among all rows; the one behind the last is the button that answers.
    pub(super) position: usize,
    pub(super) text: String,
    pub(super) is_chosen: bool,
    pub(super) is_current: bool,
}

/// What a key or a click on a form leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FormStep {
    /// The form changed, or did not.
    Changed,
    Answer(CompactAnswer),
    /// The card has nothing to do with the question.
    Unrelated,
}

/// Form of the open question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) number: u32,
    pub(super) sentence: String,
    rows: Vec<FormRow>,
    shape: Shape,
    at: usize,
    /// Only rows of this card, and only with this target, are shown.
    pub(super) card: Option<String>,
    target: Option<String>,
}

fn row(option: &ChoiceOption) -> FormRow {
    FormRow {
        id: option.id.clone(),
        label: option.label.clone(),
        cards: option.cards.clone(),
        targets: option.targets.clone(),
        partners: Vec::new(),
    }
}

fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Form {
    pub(super) fn new(question: &Question) -> Self {
        let (rows, shape) = match &question.form {
            AnswerForm::Action { options } => (options.iter().map(row).collect(), Shape::One),
            AnswerForm::Options { options, min: 1, max: 1, .. } => {
                (options.iter().map(row).collect(), Shape::One)
            }
            AnswerForm::Options { options, min, max, ordered } => {
                let shape = Shape::Several {
                    chosen: Vec::new(),
                    min: size(*min),
                    max: size(*max),
                    is_order: *ordered,
                };
                (options.iter().map(row).collect(), shape)
            }
            AnswerForm::Attackers { attackers, defenders, required } => {
                let all: Vec<String> = defenders.iter().map(|one| one.id.clone()).collect();
                let rows = attackers.iter().map(|one| FormRow { partners: all.clone(), ..row(one) });
                pairs(rows.collect(), defenders, required, true)
            }
            AnswerForm::Blockers { blockers, attackers, required } => {
                let rows = blockers.iter().map(|one| FormRow {
                    id: one.id.clone(),
                    label: one.label.clone(),
                    cards: vec![one.id.clone()],
                    targets: Vec::new(),
                    partners: one.can_block.clone(),
                });
                pairs(rows.collect(), attackers, required, false)
            }
            AnswerForm::Amounts { options, total, minimums, proposal } => {
                let (amounts, minimums) = (proposal.clone(), minimums.clone());
                (options.iter().map(row).collect(), Shape::Amounts { amounts, minimums, total: *total })
            }
        };
        let mut form = Form {
            number: question.number,
            sentence: question.sentence.clone(),
            rows,
            shape,
            at: 0,
            card: None,
            target: None,
        };
        // A division has a proposal: the button that accepts it is under the cursor.
        if matches!(form.shape, Shape::Amounts { .. }) {
            form.at = form.rows.len();
        }
        form
    }

    /// Whether the answer is one row, so that choosing a row is the whole answer.
    pub(super) fn is_single(&self) -> bool {
        matches!(self.shape, Shape::One)
    }

    /// Ids on the board that can be pointed at now.
    pub(super) fn candidates(&self) -> Vec<&str> {
        let shown = self.rows.iter().enumerate().filter(|(position, _)| self.is_shown(*position));
        let mut ids: Vec<&str> = Vec::new();
        for (_, row) in shown {
            let points =
                if self.card.is_some() && !row.targets.is_empty() { &row.targets } else { &row.cards };
            ids.extend(points.iter().map(String::as_str));
        }
        if let Shape::Pairs { held: Some(held), .. } = &self.shape
            && let Some(row) = self.rows.get(*held)
        {
            ids.extend(row.partners.iter().map(String::as_str));
        }
        ids
    }

    /// Ids on the board that are chosen, with a sign that says as what.
    pub(super) fn marks(&self) -> Vec<(&str, &'static str)> {
        let mut marks = Vec::new();
        for (position, row) in self.rows.iter().enumerate() {
            let sign = match &self.shape {
                Shape::Several { chosen, .. } if chosen.contains(&position) => "✓",
                Shape::Pairs { partners, is_attack, held, .. } => {
                    match (partners.get(position).copied().flatten(), *held == Some(position)) {
                        (Some(_), _) if *is_attack => "»",
                        (Some(_), _) => "‖",
                        (None, true) => "?",
                        (None, false) => continue,
                    }
                }
                _ => continue,
            };
            marks.extend(row.cards.iter().map(|card| (card.as_str(), sign)));
        }
        marks
    }

    fn is_shown(&self, position: usize) -> bool {
        let Some(row) = self.rows.get(position) else { return position == self.rows.len() };
        self.card.as_ref().is_none_or(|card| row.cards.contains(card))
            && self.target.as_ref().is_none_or(|target| row.targets.contains(target))
    }

    /// Positions that the cursor can be on.
    fn places(&self) -> Vec<usize> {
        let mut places: Vec<usize> =
            (0..self.rows.len()).filter(|position| self.is_shown(*position)).collect();
        if !self.is_single() {
            places.push(self.rows.len());
        }
        places
    }

    /// The rows as they are drawn.
    pub(super) fn shown(&self) -> Vec<ShownRow> {
        let row = |position: usize| ShownRow {
            position,
            text: self.row_text(position),
            is_chosen: self.is_chosen(position),
            is_current: position == self.at,
        };
        self.places().into_iter().map(row).collect()
    }

    fn is_chosen(&self, position: usize) -> bool {
        match &self.shape {
            Shape::One => false,
            Shape::Several { chosen, .. } => chosen.contains(&position),
            Shape::Pairs { partners, .. } => partners.get(position).copied().flatten().is_some(),
            Shape::Amounts { amounts, .. } => amounts.get(position).is_some_and(|amount| *amount > 0),
        }
    }

    fn row_text(&self, position: usize) -> String {
        let Some(row) = self.rows.get(position) else { return self.button() };
        match &self.shape {
            Shape::One => row.label.clone(),
            Shape::Several { chosen, is_order, .. } => match chosen.iter().position(|one| *one == position) {
                Some(rank) if *is_order => format!("{}. {}", rank + 1, row.label),
                Some(_) => format!("[x] {}", row.label),
                None if *is_order => format!("-  {}", row.label),
                None => format!("[ ] {}", row.label),
            },
            Shape::Pairs { partners, names, is_attack, .. } => {
                let partner = partners.get(position).copied().flatten().and_then(|at| names.get(at));
                match (partner, is_attack) {
                    (Some(partner), true) => format!("[x] {} attacks {}", row.label, partner.label),
                    (Some(partner), false) => format!("[x] {} blocks {}", row.label, partner.label),
                    (None, _) => format!("[ ] {}", row.label),
                }
            }
            Shape::Amounts { amounts, .. } => {
                format!("◂ {} ▸ {}", amounts.get(position).copied().unwrap_or(0), row.label)
            }
        }
    }

    /// Text of the button that answers.
    fn button(&self) -> String {
        match &self.shape {
            Shape::One => String::new(),
            Shape::Several { chosen, is_order: true, max, .. } => {
                format!("▶ this order ({} of {max})", chosen.len())
            }
            Shape::Several { chosen, min, max, .. } if chosen.is_empty() && *min == 0 => {
                format!("▶ none (up to {max})")
            }
            Shape::Several { chosen, min, max, .. } if min == max => {
                format!("▶ done ({} of {max})", chosen.len())
            }
            Shape::Several { chosen, min, max, .. } => {
                format!("▶ done ({} of {min} to {max})", chosen.len())
            }
            Shape::Pairs { partners, is_attack, .. } => {
                match (partners.iter().flatten().count(), is_attack) {
                    (0, true) => "▶ no attack".to_owned(),
                    (0, false) => "▶ no block".to_owned(),
                    (count, true) => format!("▶ attack with {count}"),
                    (count, false) => format!("▶ block with {count}"),
                }
            }
            Shape::Amounts { amounts, total, .. } => {
                format!("▶ assign ({} of {total})", amounts.iter().sum::<i32>())
            }
        }
    }

    pub(super) fn move_cursor(&mut self, down: bool) {
        let places = self.places();
        let count = places.len().max(1);
        let now = places.iter().position(|place| *place == self.at).unwrap_or(0);
        let next = if down { (now + 1) % count } else { (now + count - 1) % count };
        self.at = places.get(next).copied().unwrap_or(0);
    }

    pub(super) fn go_to_end(&mut self, last: bool) {
        let places = self.places();
        let end = if last { places.last() } else { places.first() };
        self.at = end.copied().unwrap_or(0);
    }

    /// Cards of the row under the cursor, and its targets.
    pub(super) fn current_cards(&self) -> Vec<&str> {
        let row = self.rows.get(self.at);
        row.into_iter().flat_map(|row| row.cards.iter().chain(&row.targets)).map(String::as_str).collect()
    }

    /// Chooses the row under the cursor.
    pub(super) fn activate(&mut self) -> FormStep {
        let at = self.at;
        self.choose(at)
    }

    /// Chooses the row that is drawn in this place, counted from one.
    pub(super) fn choose_number(&mut self, number: usize) -> FormStep {
        match number.checked_sub(1).and_then(|index| self.places().get(index).copied()) {
            Some(position) => self.choose(position),
            None => FormStep::Changed,
        }
    }

    /// Chooses a row: answers with it, or turns it on or off.
    pub(super) fn choose(&mut self, position: usize) -> FormStep {
        self.at = position;
        if position >= self.rows.len() {
            return if self.is_single() { FormStep::Changed } else { FormStep::Answer(self.answer()) };
        }
        match &mut self.shape {
            Shape::One => return FormStep::Answer(self.answer()),
            Shape::Several { chosen, max, .. } => match chosen.iter().position(|one| *one == position) {
                Some(found) => {
                    chosen.remove(found);
                }
                None => {
                    chosen.push(position);
                    // One too many replaces the oldest.
                    if chosen.len() > *max {
                        chosen.remove(0);
                    }
                }
            },
            Shape::Pairs { .. } | Shape::Amounts { .. } => self.change(1),
        }
        FormStep::Changed
    }

    /// Changes the partner or the amount of the row under the cursor.
    pub(super) fn change(&mut self, by: i32) {
        let Some(row) = self.rows.get(self.at) else { return };
        match &mut self.shape {
            Shape::Pairs { partners, names, .. } => {
                let able: Vec<usize> = names
                    .iter()
                    .enumerate()
                    .filter(|(_, name)| row.partners.contains(&name.id))
                    .map(|(index, _)| index)
                    .collect();
                if let Some(partner) = partners.get_mut(self.at) {
                    *partner = next_partner(*partner, &able, by);
                }
            }
            Shape::Amounts { amounts, minimums, total } => {
                let others: i32 =
                    amounts.iter().enumerate().filter(|(at, _)| *at != self.at).map(|(_, n)| n).sum();
                let least = minimums.get(self.at).copied().unwrap_or(0);
                let most = (*total - others).max(least);
                if let Some(amount) = amounts.get_mut(self.at) {
                    *amount = amount.saturating_add(by).clamp(least, most);
                }
            }
            Shape::One | Shape::Several { .. } => {}
        }
    }

    /// Points at a card or a player on the board.
    pub(super) fn point(&mut self, id: &str) -> FormStep {
        if let Shape::Pairs { partners, names, held, .. } = &mut self.shape {
            // A creature that can block several attackers has a row for each block: the first free one.
            let is_own = |row: &FormRow| row.cards.iter().any(|card| card == id);
            let is_free = |at: &usize| partners.get(*at).copied().flatten().is_none();
            let own: Vec<usize> =
                (0..self.rows.len()).filter(|at| self.rows.get(*at).is_some_and(is_own)).collect();
            let own = own.iter().copied().find(is_free).or(own.last().copied());
            let name = names.iter().position(|name| name.id == id);
            match (own, name, *held) {
                (Some(position), _, _) => {
                    self.at = position;
                    let row_partners = self.rows.get(position).map_or(0, |row| row.partners.len());
                    let is_paired = partners.get(position).copied().flatten().is_some();
                    // With one thing to attack or block there is nothing more to point at.
                    if row_partners == 1 || is_paired {
                        *held = None;
                        self.change_to_first(position, is_paired);
                    } else {
                        *held = Some(position);
                    }
                }
                (None, Some(name), Some(position)) => {
                    let fits =
                        self.rows.get(position).is_some_and(|row| row.partners.iter().any(|one| one == id));
                    if !fits {
                        return FormStep::Unrelated;
                    }
                    if let Some(partner) = partners.get_mut(position) {
                        *partner = Some(name);
                    }
                    *held = None;
                }
                _ => return FormStep::Unrelated,
            }
            return FormStep::Changed;
        }
        self.point_row(id)
    }

    fn change_to_first(&mut self, position: usize, is_paired: bool) {
        let Some(row) = self.rows.get(position) else { return };
        if let Shape::Pairs { partners, names, .. } = &mut self.shape
            && let Some(partner) = partners.get_mut(position)
        {
            let first = names.iter().position(|name| row.partners.contains(&name.id));
            *partner = if is_paired { None } else { first };
        }
    }

    /// Points at the card of a row: the only row is chosen, several are shown alone.
    fn point_row(&mut self, id: &str) -> FormStep {
        let targets = |form: &Form| -> Vec<usize> {
            let is_target = |row: &FormRow| row.targets.iter().any(|target| target == id);
            form.places().into_iter().filter(|at| form.rows.get(*at).is_some_and(is_target)).collect()
        };
        if self.card.is_some() && self.card.as_deref() != Some(id) {
            let found = targets(self);
            if let [only] = found.as_slice() {
                return self.choose(*only);
            }
            if let Some(first) = found.first() {
                self.at = *first;
                self.target = Some(id.to_owned());
                return FormStep::Changed;
            }
        }
        let is_card = |row: &FormRow| row.cards.iter().any(|card| card == id);
        let found: Vec<usize> =
            (0..self.rows.len()).filter(|at| self.rows.get(*at).is_some_and(is_card)).collect();
        match found.as_slice() {
            [] => FormStep::Unrelated,
            [only] => {
                self.widen();
                self.choose(*only)
            }
            [first, ..] => {
                self.at = *first;
                self.target = None;
                self.card = Some(id.to_owned());
                FormStep::Changed
            }
        }
    }

    /// Shows all rows again; false when they were.
    pub(super) fn widen(&mut self) -> bool {
        let was = self.card.take().is_some() | self.target.take().is_some();
        if let Shape::Pairs { held, .. } = &mut self.shape {
            return held.take().is_some() || was;
        }
        was
    }

    /// The id of the row that passes, if the question has one.
    pub(super) fn pass(&self) -> Option<CompactAnswer> {
        let is_action = self.is_single() && self.rows.first().is_some_and(|row| row.id == "a0");
        is_action.then(|| CompactAnswer::Action("a0".to_owned()))
    }

    fn id(&self, position: usize) -> String {
        self.rows.get(position).map(|row| row.id.clone()).unwrap_or_default()
    }

    /// The answer as it stands.
    fn answer(&self) -> CompactAnswer {
        match &self.shape {
            Shape::One if self.id(self.at).starts_with('a') => CompactAnswer::Action(self.id(self.at)),
            Shape::One => CompactAnswer::Options(vec![self.id(self.at)]),
            Shape::Several { chosen, .. } => {
                CompactAnswer::Options(chosen.iter().map(|position| self.id(*position)).collect())
            }
            Shape::Pairs { partners, names, is_attack, .. } => {
                let pairs = partners.iter().enumerate().filter_map(|(position, partner)| {
                    Some((self.id(position), names.get((*partner)?)?.id.clone()))
                });
                if *is_attack {
                    CompactAnswer::Attackers(pairs.collect())
                } else {
                    CompactAnswer::Blockers(pairs.collect())
                }
            }
            Shape::Amounts { amounts, .. } => CompactAnswer::Amounts(amounts.clone()),
        }
    }
}

fn pairs(
    rows: Vec<FormRow>,
    names: &[ChoiceOption],
    required: &[(String, String)],
    is_attack: bool,
) -> (Vec<FormRow>, Shape) {
    // The n-th row of a creature has its n-th required partner.
    let partner = |(position, row): (usize, &FormRow)| {
        let earlier = rows.iter().take(position).filter(|other| other.id == row.id).count();
        let wanted = required.iter().filter(|(id, _)| *id == row.id).map(|(_, to)| to).nth(earlier)?;
        names.iter().position(|name| name.id == *wanted)
    };
    let partners = rows.iter().enumerate().map(partner).collect();
    (rows, Shape::Pairs { partners, names: names.to_vec(), is_attack, held: None })
}

/// The next partner in a round that begins with none.
fn next_partner(now: Option<usize>, able: &[usize], by: i32) -> Option<usize> {
    let count = able.len() + 1;
    let place = now.and_then(|now| able.iter().position(|one| *one == now)).map_or(0, |at| at + 1);
    let step = if by < 0 { count - 1 } else { 1 };
    ((place + step) % count).checked_sub(1).and_then(|at| able.get(at).copied())
}
