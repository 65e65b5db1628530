"""Three articles on neighbouring subjects, written for the tests of answers from a small library."""

HARVESTERS = """# Harvesters that Work Alone

A harvester that works alone needs more than a cutter. It plans its rows, it remembers the field, and it calls on
other machines. Several prototypes show what is possible; most of them still need a person at the edge of the
field.

## Part One: Planning

### Splitting the work

A large field is split into strips. *Row ladder* (Brandt et al. 2031) asks for one row after the other. *Row tree*
keeps several ways open and drops the poor ones. Planning over a long season remains hard: a plan made in spring
rarely holds.

### Self-inspection

Self-inspection is what lets a harvester improve from pass to pass by correcting what it did wrong on the last one.
It matters most in fields with stones, where mistakes cannot be avoided.

Tandem (Okafor et al. 2032) joins cutting and sensing in one harvester by adding to its moves a set of questions
that it puts to its own sensors. After each cut, Tandem asks a sensor, notes what it sees, and only then chooses
the next move. In hilly fields and in flat ones Tandem does better than a harvester that only cuts.

Mirror (Lindqvist 2033) gives a harvester a memory for its mistakes and a habit of self-inspection. After each pass
it computes a mark and may stop to begin the row again, depending on what the self-inspection of the Tandem
harvester found.

## Part Two: Memory

Short memory holds the present row. Long memory holds maps of earlier years and is looked up by place.

- Sensory memory: what the camera saw in the last second.
- Row memory: where the cutter has been.
- Season memory: yields by place, kept for years.

## Part Three: Calling on Others

A harvester may call a drone, a weather service or a barn. Brandt first tried this on a farm of 40 hectares. The draft
of a plan is sent to the barn before the first row is cut.
"""

WEIGHING = """# Weighing by Example

Weighing by example means that a scale is shown a few weighed bags and then estimates the next ones. No part is
replaced.

## Basic ways

### Zero-sample

The scale is given the bag and nothing else. This works for grain and fails for straw.

### Short-sample

Short-sample weighing shows the scale some good examples, each with a bag and its true weight, before the bag in
question. It is usually better than zero-sample weighing but takes longer when the bags are large.

Many studies looked into which examples to choose and saw that their choice, number and order can make the result
anything between a guess and nearly exact. Ueda et al. (2031) examined short-sample weighing and found that several
errors of the scale add to this variance: (1) Majority error arises if one kind of bag is more common among the
examples; (2) Last-bag error means that the scale repeats the weight at the end; (3) Round-number error means that
it prefers common weights to rare ones. To overcome such errors, they set the scale so that an empty bag gives an
even spread.

### Tips for the choice of examples

- Choose bags that look like the bag in question.
- Choose bags that differ from each other.
- Keep the order mixed.

## Step weighing

Step weighing asks the scale for every step between bag and weight. There are two main types:

- Short-sample step weighing: the scale is shown worked examples, written by hand.
- Zero-sample step weighing: the scale is told to go step by step.
"""

SABOTAGE = """# Sabotage of Seed Sorters

Seed sorters are in every barn since the launch of the cheap models. Much work went into making them safe. Yet
sabotage of a sorter can make it let bad seed through.

## Types of Seed Sabotage

There are several ways to find seed that makes a sorter do something unwanted. We present five approaches here.

| Sabotage | Type | Description |
|---|---|---|
| Seed swapping | closed-lid | Change a few seeds so that the sorter fails. |
| Slope following | open-lid | Follow the slope of the sorter's error. |
| Chute tricks | closed-lid | Talk the sorter out of its rules. |
| Human probing | closed-lid | People attack the sorter. |
| Machine probing | closed-lid | One sorter attacks the other. |

### Machine probing

Human probing is strong but slow. With machine probing, one sorter makes bags on which the other one fails. Finding
such bags takes three steps: make bags, let the sorter judge them, keep those that it judged wrongly. Several ways
to make bags were tried:

- Zero-sample making: bags are made from a plain request.
- Random short-sample making: bags that worked are shown as short-sample examples so that more types of them arise.
- Trained making: the sorter is trained on bags that can arise with short-sample weighing.

## Defence

One simple defence is to tell the sorter to be careful. Training on sabotaged bags is the most common one, and costs
some accuracy. Who attacks first wins often; in the end, a person must look.
"""

ARTICLES = {"harvesters.md": HARVESTERS, "weighing.md": WEIGHING, "sabotage.md": SABOTAGE}
